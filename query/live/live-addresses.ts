import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyedHash } from '#auth/signing-keys.ts';
import { invalidBody, unauthorized } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import { telling } from './live-request.ts';

/** Milliseconds in which an address is good for a stream to begin. */
const lifetime = 60_000;
/** Proxies take addresses of 8 KB. */
const longest = 6000;
const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];

/** The request that an address was made of. */
export interface Addressed {
  /** One that is missing was not sent: nobody can add it. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: HttpRequest['query'];
  readonly asked: RequestConditions;
}

/**
 * Addresses of live finds, for browsers' EventSource, which sends no headers. One holds the request, encrypted: nobody can
 * read the token in it, in a log or elsewhere.
 */
export class LiveAddresses {
  readonly #keyOf: KeyedHash;
  readonly #now: () => number;

  /** @param args.keyOf of the store, so that every process can read the address */
  constructor(args: { readonly keyOf: KeyedHash; readonly now: () => number }) {
    this.#keyOf = args.keyOf;
    this.#now = args.now;
  }

  /** Throws a 400 when the request is too long for an address. */
  async make(request: HttpRequest, asked: RequestConditions): Promise<{ address: string; expiresAt: Date }> {
    const given = telling.flatMap((name) => {
      const value = name === 'origin' ? undefined : request.header(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const expiresAt = new Date(this.#now() + lifetime);
    const addressed: Addressed = { headers: Object.fromEntries(given), query: request.query, asked };
    const text = JSON.stringify([placeOf(request), expiresAt.getTime(), addressed]);
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, await this.#keyOf(''), iv);
    const sealed = Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
    const address = `${request.path}?key=${sealed.toString('base64url')}`;
    if (address.length > longest)
      throw invalidBody(
        `The conditions and headers make an address of ${address.length} characters; at most ${longest} are allowed: leave out the structure header, or ask by POST at _find_`,
      );
    return { address, expiresAt };
  }

  /** Throws a 401 for a key that is none, or has expired. */
  async read(request: HttpRequest): Promise<Addressed> {
    const key = request.query.find(([name]) => name === 'key')?.[1] ?? '';
    const opened = await this.#open(Buffer.from(key, 'base64url'));
    const [place, expiresAt, addressed] = opened ?? [];
    if (place !== placeOf(request) || addressed === undefined || (expiresAt ?? 0) < this.#now())
      throw unauthorized('The address has expired, or is none of ours: ask for another one by POST');
    return addressed;
  }

  async #open(bytes: Buffer): Promise<[place: string, expiresAt: number, addressed: Addressed] | null> {
    if (bytes.byteLength <= ivBytes + tagBytes) return null;
    const decipher = createDecipheriv(algorithm, await this.#keyOf(''), bytes.subarray(0, ivBytes));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const text = [decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()];
      return JSON.parse(Buffer.concat(text).toString());
    } catch {
      // somebody made it up, or changed it
      return null;
    }
  }
}

function placeOf({ params }: HttpRequest): string {
  return `${params.project}/${params.space}`;
}
