import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SigningKeys } from '../common/auth/signing-keys.ts';
import { invalidBody, linkRefused, unavailable } from '../common/errors/catalogue.ts';
import { upTo } from '../common/limits/up-to.ts';
import type { RedisConnection } from '../common/redis/redis-connection.ts';
import { redisScript } from '../common/redis/redis-connection.ts';
import { TextSigner } from './signed-text.ts';

/** What an upload link lets in. */
export interface UploadLink {
  readonly id: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly maxBytes: number;
  /** A media type, or the beginning of one up to its slash; empty: any. */
  readonly type: string;
  /** How many uploads; 0: any number. */
  readonly times: number;
}

type Uploader = Pick<UploadLink, 'ownerId' | 'projectSlug'>;

/** Links of a process that has its store to itself, and that let in so many uploads: more end the oldest. */
const rememberedLinks = 100_000;

const takeScript = redisScript(`
local left = tonumber(redis.call('GET', KEYS[1]))
if not left or left < 1 then return 0 end
redis.call('SET', KEYS[1], left - 1, 'KEEPTTL')
return 1
`);
const giveBackScript = redisScript(`
local left = tonumber(redis.call('GET', KEYS[1]))
if left then redis.call('SET', KEYS[1], left + 1, 'KEEPTTL') end
return 1
`);

/**
 * Links by which those upload who have no token. They are checked by a key alone; only how often one may still be used
 * is stored, in Redis or in this process. Where that is forgotten, the link has ended.
 */
export class UploadLinks {
  readonly #links: TextSigner;
  readonly #uploads: TextSigner;
  readonly #redis: RedisConnection | null | undefined;
  readonly #left = new LRUCache<string, number>({ ...upTo(rememberedLinks) });
  readonly #now: () => number;

  /**
   * @param args.keys those of the store: every gateway accepts what another has signed
   * @param args.redis absent: this process is alone; null: others can't be asked how often a link was used
   */
  constructor(args: {
    keys: SigningKeys;
    redis?: RedisConnection | null | undefined;
    now?: () => number;
  }) {
    this.#links = new TextSigner(args.keys, 'sluice upload link 1');
    this.#uploads = new TextSigner(args.keys, 'sluice upload by link 1');
    this.#redis = args.redis;
    this.#now = args.now ?? Date.now;
  }

  /** The value of the parameter `link`. */
  async sign(about: Omit<UploadLink, 'id'>): Promise<string> {
    const link = { id: randomUUID(), ...about };
    if (link.times > 0) {
      if (this.#redis === null)
        throw invalidBody('times needs REDIS_URL: the processes of this server count together');
      const lifetime = link.expires * 1000 - this.#now();
      if (this.#redis === undefined) this.#left.set(link.id, link.times, { ttl: lifetime });
      else await orUnavailable(this.#redis.set(keyOf(link), `${link.times}`, lifetime));
    }
    const text = Buffer.from(JSON.stringify(link)).toString('base64url');
    return `${text}.${await this.#links.sign([text])}`;
  }

  /** Throws 403 when it is over, is none of ours, or is one of another project. */
  async read(value: string, projectSlug: string): Promise<UploadLink> {
    const dot = value.indexOf('.');
    const text = value.slice(0, dot);
    if (dot === -1 || !(await this.#links.isGood(value.slice(dot + 1), [text]))) throw linkRefused();
    const link = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as UploadLink;
    if (link.projectSlug !== projectSlug || link.expires * 1000 <= this.#now()) throw linkRefused();
    return link;
  }

  /** Throws 403 when it was used as often as it may be, and 503 when Redis does not know. */
  async use(link: UploadLink): Promise<void> {
    if (link.times > 0 && !(await this.#take(link))) throw linkRefused('The link has been used');
  }

  /** An upload failed. */
  async giveBack(link: UploadLink): Promise<void> {
    const left = this.#left.get(link.id);
    if (left !== undefined) this.#left.set(link.id, left + 1, { noUpdateTTL: true });
    else if (link.times > 0) await this.#redis?.run(giveBackScript, [keyOf(link)], []);
  }

  async #take(link: UploadLink): Promise<boolean> {
    if (this.#redis != null)
      return (await orUnavailable(this.#redis.run(takeScript, [keyOf(link)], []))) === 1;
    const left = this.#left.get(link.id) ?? 0;
    if (left > 0) this.#left.set(link.id, left - 1, { noUpdateTTL: true });
    return left > 0;
  }

  /** The value of the parameter `upload`, by which one upload goes on that a link began. */
  async signUpload({ ownerId, projectSlug }: Uploader, name: string): Promise<string> {
    return `${ownerId}.${await this.#uploads.sign([ownerId, projectSlug, name])}`;
  }

  /** Whose upload it is; throws 403 when it is not this one. */
  async readUpload(value: string, projectSlug: string, name: string): Promise<string> {
    const ownerId = value.slice(0, 36);
    if (!(await this.#uploads.isGood(value.slice(37), [ownerId, projectSlug, name]))) throw linkRefused();
    return ownerId;
  }
}

async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw unavailable('Redis, which counts the uses of a link, does not answer', error);
  }
}

function keyOf({ id }: Pick<UploadLink, 'id'>): string {
  return `sluice:upload-link:1:${id}`;
}
