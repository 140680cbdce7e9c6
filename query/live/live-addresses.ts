import { SealedTexts } from '#auth/sealed-texts.ts';
import type { KeyedHash } from '#auth/signing-keys.ts';
import { invalidBody, unauthorized } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import { identifyingHeaders } from './live-request.ts';

/** Milliseconds within which a stream must begin. */
const lifetime = 60_000;
/** Proxies take addresses of 8 KB. */
const longest = 6000;

/** The request that an address holds. Processes of different versions read it, so its keys stay as they are. */
export interface AddressedRequest {
  /** All headers that count: none can be added later. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: HttpRequest['query'];
  readonly asked: RequestConditions;
}

/**
 * Addresses of live queries, for browsers' EventSource, which sends no headers. An address holds the request in encrypted
 * form, so that nobody can read its token in a log.
 */
export class LiveAddresses {
  readonly #sealed: SealedTexts;
  readonly #now: () => number;

  /** @param args.keyOf derives the key from the store, so every process can read the address */
  constructor(args: { readonly keyOf: KeyedHash; readonly now: () => number }) {
    this.#sealed = new SealedTexts(args.keyOf);
    this.#now = args.now;
  }

  /** Throws a 400 if the request is too long for an address. */
  async make(
    request: HttpRequest,
    requested: RequestConditions,
  ): Promise<{ address: string; expiresAt: Date }> {
    const headers = identifyingHeaders.flatMap((name) => {
      const value = name === 'origin' ? undefined : request.header(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const expiresAt = new Date(this.#now() + lifetime);
    const addressed: AddressedRequest = {
      headers: Object.fromEntries(headers),
      query: request.query,
      asked: requested,
    };
    const text = JSON.stringify([pathOf(request), expiresAt.getTime(), addressed]);
    const address = `${request.path}?key=${await this.#sealed.seal(text)}`;
    if (address.length > longest)
      throw invalidBody(
        `The conditions and headers make an address of ${address.length} characters; at most ${longest} are allowed: leave out the structure header, or send the find by POST to _find_`,
      );
    return { address, expiresAt };
  }

  /** Throws a 401 for a key that is invalid or has expired. */
  async read(request: HttpRequest): Promise<AddressedRequest> {
    const key = request.query.find(([name]) => name === 'key')?.[1] ?? '';
    const text = await this.#sealed.open(key);
    const opened: readonly [string, number, AddressedRequest] | [] = text === null ? [] : JSON.parse(text);
    const [path, expiresAt, addressed] = opened;
    if (path !== pathOf(request) || addressed === undefined || (expiresAt ?? 0) < this.#now())
      throw unauthorized('The address is invalid or has expired: request another one by POST');
    return addressed;
  }
}

function pathOf({ params }: HttpRequest): string {
  return `${params.project}/${params.space}`;
}
