import type { Authenticate } from '#auth/authenticate.ts';
import { linkRefused, payloadTooLarge } from '#kernel/errors/catalogue.ts';
import type { Grants } from '#kernel/grants.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';
import type { UploadLink, UploadLinks } from '../links/upload-links.ts';

export interface UploadAccessDeps {
  readonly authenticate: Authenticate;
  readonly uploadLinks: UploadLinks;
  readonly maxUploadBytes: number;
  readonly log: Pick<Log, 'warn'>;
}

/** The owner of a new file, and its limits. */
export interface UploadGrant {
  readonly userId: string;
  readonly maxBytes: number;
  /** Absent: the request has a token. */
  readonly link?: UploadLink;
  /** The grants of the token; absent: all. */
  readonly grants?: Grants | undefined;
}

/** The right to upload: with a token, or by a link. */
export class UploadAccess {
  readonly #deps: UploadAccessDeps;
  /** Links used by requests under way. */
  readonly #used = new WeakMap<HttpRequest, UploadLink>();

  constructor(deps: UploadAccessDeps) {
    this.#deps = deps;
  }

  /** Authorizes a request that begins an upload, and counts it as a use of its link. Throws 401 or 403. */
  async begin(request: HttpRequest, projectSlug: string): Promise<UploadGrant> {
    const { authenticate, uploadLinks, maxUploadBytes } = this.#deps;
    const value = parameter(request, 'link');
    if (value === undefined) {
      const { userId, grants } = await authenticate(request);
      return { userId, maxBytes: maxUploadBytes, grants };
    }
    const link = await uploadLinks.read(value, projectSlug);
    const maxBytes = Math.min(link.maxBytes, maxUploadBytes);
    request.body.identify(link.ownerId);
    await uploadLinks.use(link);
    this.#used.set(request, link);
    return { userId: link.ownerId, maxBytes, link };
  }

  /** The owner of an upload under way. The link that began it may have expired. */
  async ownerOfUpload(request: HttpRequest, projectSlug: string, name: string): Promise<string> {
    const value = parameter(request, 'upload');
    if (value === undefined) return (await this.#deps.authenticate(request)).userId;
    const ownerId = await this.#deps.uploadLinks.readUpload(value, projectSlug, name);
    request.body.identify(ownerId);
    return ownerId;
  }

  /** The query of an upload's address, with which a client without a token can continue it. */
  async addressQuery({ link }: UploadGrant, name: string): Promise<string> {
    return link === undefined ? '' : `?upload=${await this.#deps.uploadLinks.signUpload(link, name)}`;
  }

  /** A failed upload does not count as a use of its link. */
  refundOnFailure(handler: Handler): Handler {
    return async (request) => {
      try {
        return await handler(request);
      } catch (error) {
        const link = this.#used.get(request);
        if (link !== undefined) await this.#giveBack(link);
        throw error;
      }
    };
  }

  async #giveBack(link: UploadLink): Promise<void> {
    try {
      await this.#deps.uploadLinks.giveBack(link);
    } catch (err) {
      // the client gets the first error; its link has one use less
      this.#deps.log.warn({ err, link: link.id }, 'a failed upload still counts as a use of its link');
    }
  }
}

/** Throws 413 or 403 for a file that the grant does not allow. @param bytes its size, as far as it is known */
export function assertFits({ maxBytes, link }: UploadGrant, contentType: string, bytes: number): void {
  if (bytes > maxBytes) throw payloadTooLarge(maxBytes, 'File');
  const { type = '' } = link ?? {};
  const fits = type.endsWith('/') ? contentType.startsWith(type) : type === '' || contentType === type;
  if (!fits) throw linkRefused(`The link takes files of type ${type}, not ${contentType}`);
}

function parameter({ query }: HttpRequest, wanted: string): string | undefined {
  return query.find(([name]) => name === wanted)?.[1];
}
