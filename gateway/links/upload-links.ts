import { randomUUID } from 'node:crypto';
import type { SigningKeys } from '#auth/signing-keys.ts';
import { type IsClosed, noneClosed } from '#catalogue/closed-accounts.ts';
import { linkRefused } from '#kernel/errors/catalogue.ts';
import type { LinkUses } from './link-uses.ts';
import { TextSigner } from './text-signer.ts';

/** The owner, the project and the limits of an upload link. */
export interface UploadLink {
  readonly id: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  /** For uploads that rules bind, the user, or null for a stranger. */
  readonly user?: string | null;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly maxBytes: number;
  /** A media type, or the beginning of one up to its slash; empty: any. */
  readonly type: string;
  /** The bytes of files are of the type as well, and not only what their clients say. */
  readonly verifyType?: boolean;
  /** Number of uploads; 0: any. */
  readonly times: number;
  /** The longest that a file stays. Seconds; absent: as long as others. */
  readonly fileExpiresIn?: number | undefined;
}

type Uploader = Pick<UploadLink, 'ownerId' | 'projectSlug'>;

/**
 * Links for uploads without a token. Checking one needs only a key; only the number of remaining uses is stored. If
 * that number is lost, the link is void.
 */
export class UploadLinks {
  readonly #links: TextSigner;
  readonly #uploads: TextSigner;
  readonly #uses: LinkUses;
  readonly #now: () => number;
  readonly #closed: IsClosed;

  /** @param args.keys of the store, so that every gateway accepts every link @param args.closed accounts without links */
  constructor(args: { keys: SigningKeys; uses: LinkUses; closed?: IsClosed; now?: () => number }) {
    this.#links = new TextSigner(args.keys, 'sluice upload link 1');
    this.#uploads = new TextSigner(args.keys, 'sluice upload by link 1');
    this.#uses = args.uses;
    this.#now = args.now ?? Date.now;
    this.#closed = args.closed ?? noneClosed;
  }

  /** The value of the parameter `link`. */
  async sign(terms: Omit<UploadLink, 'id'>): Promise<string> {
    const link = { id: randomUUID(), ...terms };
    if (link.times > 0) await this.#uses.allow(link.id, link.times, link.expires * 1000 - this.#now());
    const text = Buffer.from(JSON.stringify(link)).toString('base64url');
    return `${text}.${await this.#links.sign([text])}`;
  }

  /** Throws 403 when the link has expired, has a wrong signature, or is for another project. */
  async read(value: string, projectSlug: string): Promise<UploadLink> {
    const dot = value.indexOf('.');
    const text = value.slice(0, dot);
    if (dot === -1 || !(await this.#links.isGood(value.slice(dot + 1), [text]))) throw linkRefused();
    const link = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as UploadLink;
    if (link.projectSlug !== projectSlug || link.expires * 1000 <= this.#now()) throw linkRefused();
    if (this.#closed.has(link.ownerId)) throw linkRefused();
    return link;
  }

  /** Throws 403 when no use is left, and 503 while Redis is down. */
  async use(link: UploadLink): Promise<void> {
    if (link.times > 0 && !(await this.#uses.take(link.id))) throw linkRefused('The link has been used');
  }

  /** Returns the use of an upload that failed. */
  async giveBack(link: Pick<UploadLink, 'id' | 'times'>): Promise<void> {
    if (link.times > 0) await this.#uses.giveBack(link.id);
  }

  /** The value of the parameter `upload`, with which a client continues an upload that it began with a link. */
  async signUpload({ ownerId, projectSlug }: Uploader, name: string): Promise<string> {
    return `${ownerId}.${await this.#uploads.sign([ownerId, projectSlug, name])}`;
  }

  /** The owner of the upload. Throws 403 for the value of another upload. */
  async readUpload(value: string, projectSlug: string, name: string): Promise<string> {
    const ownerId = value.slice(0, 36);
    if (!(await this.#uploads.isGood(value.slice(37), [ownerId, projectSlug, name]))) throw linkRefused();
    if (this.#closed.has(ownerId)) throw linkRefused();
    return ownerId;
  }
}
