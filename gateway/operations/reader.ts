import type { Authenticate, Principal } from '#auth/authenticate.ts';
import type { IsClosed } from '#catalogue/closed-accounts.ts';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor, touchable } from '#catalogue/file-rules/touchable.ts';
import { invalidCondition, linkRefused } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { type CloudFile, isPublished } from '../catalogue/cloud-file.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import { acceptedFormat } from '../images/accepted-format.ts';
import type { WantedPicture } from '../images/pictures.ts';
import type { FileLinks } from '../links/file-links.ts';

export interface ReaderDeps {
  readonly authenticate: Authenticate;
  readonly links: Pick<FileLinks, 'isGood'>;
  /** Accounts whose files are gone, or about to be. */
  readonly closed: IsClosed;
  /** public: anyone who knows a file's address may read it. private: only its owner. */
  readonly fileLinks: 'public' | 'private';
}

/** The client of a download. */
export interface Reader {
  /** When its expiring link ends, in seconds since 1970; null: it has none. */
  readonly linkEnds: number | null;
  /** The account of its token; null: no token is needed. */
  readonly userId: string | null;
  /** Rules bind it. */
  readonly bound: BoundSender | undefined;
  /** It makes backups, which need the owner. */
  readonly backup: boolean;
  /** Of an address whose file may be replaced: its Cache-Control. */
  readonly caching?: string;
  /** We send the bytes ourselves. */
  readonly stays?: boolean;
  /** null: the file itself. */
  readonly picture: WantedPicture | null;
}

/** Throws 403 if rules let the sender read nothing. @param principal null: no token is needed */
export function readerOf(request: HttpRequest, principal: Principal | null, linkEnds: number | null): Reader {
  const { userId = null, bound, grants } = principal ?? {};
  requiredFor(bound, 'read');
  const backup = grants?.may?.includes('backup') === true && bound === undefined;
  return { linkEnds, userId, bound, backup, picture: wantedPicture(request) };
}

/** The picture that is wanted instead of the file; null: none. Throws 400 for several. */
function wantedPicture(request: HttpRequest): WantedPicture | null {
  if (request.query.length === 0) return null;
  let preset: string | undefined;
  for (const [name, value] of request.query) {
    if (name !== 'preset') continue;
    if (preset !== undefined) throw invalidCondition(['preset is given more than once']);
    preset = value;
  }
  return preset === undefined ? null : { preset, format: acceptedFormat(request.header('accept')) };
}

/** Tells the pictures of a file apart; empty: the file itself. */
export function nameOf(picture: WantedPicture | null): string {
  return picture === null ? '' : `${picture.preset}.${picture.format}`;
}

/**
 * Whether the client may send its request to the bucket. Most clients drop Authorization on the way to another host, and none
 * drops the header with a login token. HEAD needs an address of its own, and backups need our headers.
 */
export function mayLeave(request: HttpRequest, { backup }: Reader): boolean {
  return request.method === 'GET' && !backup && request.header('token') === undefined;
}

/** Whether it is the uploader's token, which alone sees a file that waits for the virus scanner. */
export function isUploader({ userId, bound }: Reader, file: CloudFile): boolean {
  if (file.state !== 'checking' || !isPublished({ ...file, state: undefined })) return false;
  return (
    file.ownerId === userId && (bound === undefined || (bound.user !== null && bound.user === file.owner))
  );
}

/** Whether a request has a link, good or not, instead of a token. */
export function hasLink({ query }: Pick<HttpRequest, 'query'>): boolean {
  for (const [name] of query) if (name === 'expires' || name === 'signature') return true;
  return false;
}

/**
 * When the signed link that replaces the token ends, in seconds since 1970; null: there is none. Throws 403 when the link
 * has expired or was not signed by us.
 */
export function endOfLink(
  { links }: Pick<ReaderDeps, 'links'>,
  request: HttpRequest,
  name = request.params.name ?? '',
): number | null | Promise<number | null> {
  if (!hasLink(request)) return null;
  const values = (wanted: string) =>
    request.query.filter(([name]) => name === wanted).map(([, value]) => value);
  const [expires, ...moreExpires] = values('expires');
  const [signature, ...moreSignatures] = values('signature');
  if (expires === undefined && signature === undefined) return null;
  if (moreExpires.length > 0 || moreSignatures.length > 0) throw linkRefused();
  const { project: projectSlug = '' } = request.params;
  return links.isGood({ projectSlug, name }, expires ?? '', signature ?? '').then((good) => {
    if (!good) throw linkRefused();
    return Number(expires);
  });
}

/** The sender by its token; null: no token is needed. Throws 401 for an invalid token. */
export function identify(
  { authenticate, fileLinks }: ReaderDeps,
  request: HttpRequest,
  linked: boolean,
): Principal | null | Promise<Principal | null> {
  const identified = !linked && (fileLinks === 'private' || request.header('authorization') !== undefined);
  return identified ? authenticate(request) : null;
}

/** Throws 404 for a file of another account, or one that rules do not show, as for a missing one. */
export function assertMayRead(
  { closed }: Pick<ReaderDeps, 'closed'>,
  file: CloudFile,
  { params }: HttpRequest,
  { userId, bound }: Reader,
): void {
  if (closed.has(file.ownerId)) throw fileNotFound();
  if (file.projectSlug !== params.project || (userId !== null && userId !== file.ownerId))
    throw fileNotFound();
  if (bound !== undefined && !touchable(bound, 'read')(file)) throw fileNotFound();
}
