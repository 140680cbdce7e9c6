import type { Authenticate, Principal } from '#auth/authenticate.ts';
import type { FileSenders } from '#auth/file-senders.ts';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { isOfTypes } from '#catalogue/file-rules/upload-limits.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { linkRefused, payloadTooLarge } from '#kernel/errors/catalogue.ts';
import type { Grants } from '#kernel/grants.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';
import type { FileDraft } from '../files/file-draft.ts';
import { registeredType } from '../inspect/registered-type.ts';
import type { UploadLink, UploadLinks } from '../links/upload-links.ts';
import { assertMayUpload, maxBytesFor } from './bound-files.ts';
import { shortestOf } from './file-lifetime.ts';

export interface UploadAccessDeps {
  readonly authenticate: Authenticate;
  readonly uploadLinks: UploadLinks;
  readonly boundAs: FileSenders['boundAs'];
  readonly maxUploadBytes: number;
  /** The longest that a new file stays. Seconds; 0: for good. */
  readonly filesTtl: number;
  readonly log: Pick<Log, 'warn'>;
}

/** The owner of a new file, and its limits. */
export interface UploadGrant {
  readonly userId: string;
  readonly maxBytes: number;
  /** How long the file stays unless the client says less. Seconds; undefined: for good. */
  readonly longestLifetime: number | undefined;
  /** Absent: the request has a token. */
  readonly link?: UploadLink;
  /** The grants of the token; absent: all. */
  readonly grants?: Grants | undefined;
  /** Rules bind the upload. */
  readonly bound?: BoundSender | undefined;
}

/** The right to upload: with a token, or by a link. */
export class UploadAccess {
  readonly #deps: UploadAccessDeps;
  /** Links used by requests under way. */
  readonly #used = new WeakMap<HttpRequest, UploadLink>();

  constructor(deps: UploadAccessDeps) {
    this.#deps = deps;
  }

  /**
   * Authorizes a request that begins an upload, and counts it as a use of its link. Throws 401 or 403.
   * @param most bytes of the largest file
   */
  async begin(
    request: HttpRequest,
    projectSlug: string,
    most: number = this.#deps.maxUploadBytes,
  ): Promise<UploadGrant> {
    const { authenticate, uploadLinks, boundAs, filesTtl } = this.#deps;
    const value = parameter(request, 'link');
    if (value === undefined) {
      const { userId, grants, bound } = await authenticate(request);
      const longestLifetime = shortestOf(filesTtl, bound?.rules.expiresIn);
      return { userId, maxBytes: maxBytesFor(bound, most), longestLifetime, grants, bound };
    }
    const link = await uploadLinks.read(value, projectSlug);
    const { ownerId, user } = link;
    request.body.identify(ownerId);
    const bound = user === undefined ? undefined : await boundAs(ownerId, projectSlug, user, request.signal);
    const maxBytes = Math.min(link.maxBytes, maxBytesFor(bound, most));
    await uploadLinks.use(link);
    this.#used.set(request, link);
    const longestLifetime = shortestOf(filesTtl, bound?.rules.expiresIn, link.fileExpiresIn);
    return { userId: ownerId, maxBytes, longestLifetime, link, bound };
  }

  /** The account of an upload under way, and who sends more of it. The link that began it may have expired. */
  async senderOfUpload(
    request: HttpRequest,
    projectSlug: string,
    name: string,
  ): Promise<Pick<Principal, 'userId' | 'bound'>> {
    const value = parameter(request, 'upload');
    if (value === undefined) return this.#deps.authenticate(request);
    const userId = await this.#deps.uploadLinks.readUpload(value, projectSlug, name);
    request.body.identify(userId);
    return { userId };
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
        // a refused file is stored, and a link must not fill the quarantine
        const isStored = error instanceof ApiError && error.code === 'file_refused';
        if (link !== undefined && !isStored) await this.#giveBack(link);
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

/**
 * Throws 413 or 403 for a file that the grant does not allow. @param bytes that it has at least
 * @param size undefined: not known before the end
 */
export function assertFits(
  { maxBytes, link, bound }: UploadGrant,
  draft: FileDraft,
  bytes: number,
  size?: number,
): void {
  if (bytes > maxBytes) throw payloadTooLarge(maxBytes, 'File');
  const { contentType } = draft;
  const { type = '' } = link ?? {};
  if (
    type !== '' &&
    !isOfTypes([type, registeredType(type)], registeredType(contentType)) &&
    !isOfTypes([type], contentType)
  )
    throw linkRefused(`The link takes files of type ${type}, not ${contentType}`);
  if (bound !== undefined) assertMayUpload(bound, draft, size);
}

/** The type that the bytes of a file must have; undefined: nobody asks. */
export function verifiedType({ link }: UploadGrant): string | undefined {
  return link?.verifyType === true ? link.type : undefined;
}

function parameter({ query }: HttpRequest, wanted: string): string | undefined {
  return query.find(([name]) => name === wanted)?.[1];
}
