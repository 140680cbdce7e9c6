import { randomUUID } from 'node:crypto';
import type { SigningKeys } from '../common/auth/signing-keys.ts';
import { linkRefused } from '../common/errors/catalogue.ts';
import type { LinkUses } from './link-uses.ts';
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

/**
 * Links by which those upload who have no token. They are checked by a key alone; only how often one may still be used
 * is stored. Where that is forgotten, the link has ended.
 */
export class UploadLinks {
  readonly #links: TextSigner;
  readonly #uploads: TextSigner;
  readonly #uses: LinkUses;
  readonly #now: () => number;

  /** @param args.keys those of the store: every gateway accepts what another has signed */
  constructor(args: { keys: SigningKeys; uses: LinkUses; now?: () => number }) {
    this.#links = new TextSigner(args.keys, 'sluice upload link 1');
    this.#uploads = new TextSigner(args.keys, 'sluice upload by link 1');
    this.#uses = args.uses;
    this.#now = args.now ?? Date.now;
  }

  /** The value of the parameter `link`. */
  async sign(about: Omit<UploadLink, 'id'>): Promise<string> {
    const link = { id: randomUUID(), ...about };
    if (link.times > 0) await this.#uses.allow(link.id, link.times, link.expires * 1000 - this.#now());
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
    if (link.times > 0 && !(await this.#uses.take(link.id))) throw linkRefused('The link has been used');
  }

  /** An upload failed. */
  async giveBack(link: UploadLink): Promise<void> {
    if (link.times > 0) await this.#uses.giveBack(link.id);
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
