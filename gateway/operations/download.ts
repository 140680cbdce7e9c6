import type { Authenticate, Principal } from '#auth/authenticate.ts';
import type { IsClosed } from '#catalogue/closed-accounts.ts';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor, touchable } from '#catalogue/file-rules/touchable.ts';
import type { ReadMoment } from '#coordination/redis/freshness.ts';
import { invalidCondition, linkRefused } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { string } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import type { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import type { ByteRange, ObjectStore } from '#objects/object-store.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { Handler, HttpRequest, HttpResponse, StreamBody } from '#server/http/http-types.ts';
import {
  type ApiAnswer,
  type ApiHeader,
  accountErrors,
  header,
  headerParameter,
  queryParameter,
} from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { type CloudFile, isPublished } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { answerFile, servedFile } from '../download/answer-file.ts';
import { assertShown } from '../download/assert-shown.ts';
import { validatorsOf } from '../download/conditional.ts';
import type { DirectDownloads } from '../download/direct-downloads.ts';
import { fileNotFound, objectBytes } from '../download/object-bytes.ts';
import { redirectToBucket } from '../download/redirect-to-bucket.ts';
import { type SmallFiles, smallFileBytes } from '../download/small-files.ts';
import { acceptedFormat } from '../images/accepted-format.ts';
import type { Pictures, WantedPicture } from '../images/pictures.ts';
import type { FileLinks } from '../links/file-links.ts';
import { anyFile, fileName, nameOfUpload, type OperationDefinition } from './operation.ts';

export interface DownloadDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findAny'>;
  readonly store: ObjectStore;
  readonly downloads: ReaderSlots;
  readonly smallFiles: SmallFiles;
  /** null: no download leads to the bucket. */
  readonly redirects: DirectDownloads | null;
  readonly pictures: Pick<Pictures, 'of'>;
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

/** A year. Seconds. */
const longestCaching = 31_536_000;
// a file never changes
const publicCaching = `public, max-age=${longestCaching}, immutable`;
// the definition of a preset may change
const pictureCaching = 86_400;
export const privateCaching = 'private, no-cache';
const unscannedHeaders = { 'cache-control': 'private, no-store' };

const versionHeaders = {
  ETag: header('Of the file, which never changes'),
  'Last-Modified': header('When the file was uploaded'),
  'Cache-Control': header('Whether shared caches may store the file'),
};

function fileAnswer(description: string, more: Readonly<Record<string, ApiHeader>> = {}): ApiAnswer {
  const served = {
    'Content-Disposition': header('inline for media types without scripts, else attachment'),
    'Content-Security-Policy': header('Keeps scripts in the file from running'),
    'X-Content-Type-Options': header('nosniff'),
    'Accept-Ranges': header('bytes'),
    'Sluice-File-Owner': {
      description: 'With the grant `backup`: the id of the user who uploaded the file, if any',
      schema: string,
    },
  };
  const headers = { ...versionHeaders, ...served, ...more };
  return { description, headers, content: anyFile };
}

export const download: OperationDefinition<DownloadDeps> = {
  summary: 'Download a file',
  description:
    'The `s3Link` of a CloudFile. With FILE_LINKS=private it needs the token of the owner or an expiring link.',
  access: 'optional',
  needs: { grant: 'files:read', touches: 'beside spaces' },
  pathParameters: fileName,
  parameters: [
    queryParameter('preset', 'Name of a preset: a picture of the file in its size'),
    queryParameter('expires', 'Of an expiring link'),
    queryParameter('signature', 'Of an expiring link'),
    headerParameter('Range', 'A single range of bytes, such as `bytes=0-99`'),
    headerParameter('If-Range', 'An ETag or a time: Range applies only to this version'),
    headerParameter('If-Match', 'ETags: 412 when none of them matches'),
    headerParameter('If-Unmodified-Since', 'A time: 412 when the file is newer'),
    headerParameter('If-None-Match', 'ETags: 304 when one of them matches'),
    headerParameter('If-Modified-Since', 'A time: 304 when the file is not newer'),
  ],
  answers: {
    200: fileAnswer('The file'),
    206: fileAnswer('A range of the file', {
      'Content-Range': header('The range, and the size of the file'),
    }),
    307: {
      description: 'With DOWNLOADS=redirect: the file is at this address of the bucket for some minutes',
      headers: {
        Location: header('A presigned address, for GET'),
        'Cache-Control': header('private, no-store'),
      },
    },
    304: { description: 'The client’s copy is current', headers: versionHeaders },
  },
  errors: [
    ...accountErrors,
    'link_refused',
    'not_found',
    'file_expired',
    'precondition_failed',
    'range_not_satisfiable',
    'invalid_condition',
    'invalid_image',
    'not_implemented',
    'overloaded',
    'unavailable',
  ],
  head: { id: 'checkFile', summary: 'Get the headers of a file', statuses: [200, 304] },
  sample: (base) => nameOfUpload(base) + curl({ url: `${base}/_f_/demo/$NAME` }),
  handler: downloadOperation,
};

/** GET /_f_/{project_slug}/{name}: a stored file, or a range of it. */
export function downloadOperation(deps: DownloadDeps): Handler {
  return (request) =>
    continueWith(endOfLink(deps, request), (linkEnds) =>
      continueWith(identify(deps, request, linkEnds !== null), (principal) => {
        const reader = readerOf(request, principal, linkEnds);
        const { name = '' } = request.params;
        return cachedAnswer(deps, request, reader, name) ?? fromStore(deps, request, reader);
      }),
    );
}

/** Throws 403 if rules let the sender read nothing. @param principal null: no token is needed */
export function readerOf(request: HttpRequest, principal: Principal | null, linkEnds: number | null): Reader {
  const { userId = null, bound, grants } = principal ?? {};
  requiredFor(bound, 'read');
  const backup = grants?.may?.includes('backup') === true && bound === undefined;
  return { linkEnds, userId, bound, backup, picture: wantedPicture(request) };
}

/** The answer with a small file, or a picture of it, that is in memory; undefined: it is not. */
export function cachedAnswer(
  deps: DownloadDeps,
  request: HttpRequest,
  reader: Reader,
  name: string,
): HttpResponse | undefined {
  const cached = deps.smallFiles.get(name, nameOf(reader.picture));
  if (cached === undefined) return undefined;
  const { file, served, bytes } = cached;
  assertMayRead(deps, file, request, reader);
  assertShown(file);
  return answerFile(request, served, headersFor(reader, file, deps.fileLinks), (range) =>
    range === null ? bytes : bytes.subarray(range.start, range.end + 1),
  );
}

async function fromStore(deps: DownloadDeps, request: HttpRequest, reader: Reader): Promise<HttpResponse> {
  const { name = '' } = request.params;
  const moment = deps.smallFiles.begin();
  const file = isStoredName(name) ? await deps.cloudFiles.findAny(name, request.signal) : null;
  if (file === null) throw fileNotFound();
  return answerStored(deps, request, reader, { stored: file, moment });
}

/** The answer with the bytes of the store. @param found.moment before the file was looked up */
export async function answerStored(
  deps: DownloadDeps,
  request: HttpRequest,
  reader: Reader,
  { stored, moment }: { readonly stored: CloudFile; readonly moment: ReadMoment },
): Promise<HttpResponse> {
  const { downloads, smallFiles } = deps;
  const { signal } = request;
  assertMayRead(deps, stored, request, reader);
  // pictures are made of files that everybody sees
  if (reader.picture !== null || !isUploader(reader, stored)) assertShown(stored);
  const file = reader.picture === null ? stored : await deps.pictures.of(stored, reader.picture, signal);
  const mayRedirect = reader.stays !== true && file.state === undefined;
  const direct = mayRedirect && deps.redirects?.covers(file) === true ? deps.redirects : null;
  if (direct !== null && mayLeave(request, reader)) {
    const redirect = await redirectToBucket(direct, request, file, reader.linkEnds);
    if (redirect !== null) return redirect;
  }
  const validators = (await direct?.validators(file, signal)) ?? validatorsOf(file);
  const owner = reader.userId ?? addressOwner(request.address);
  const read = (range: ByteRange | null) => objectBytes(deps.store, file.objectKey, range, signal);
  const vary = reader.picture === null ? undefined : 'Accept';
  const served = servedFile(file, { cacheControl: cachingOf(deps, reader), vary }, validators);
  const response = answerFile(request, served, headersFor(reader, file, deps.fileLinks), (range) => ({
    ...inTurn(downloads, owner, request, () => read(range)),
    length: range === null ? file.size : range.end - range.start + 1,
  }));
  const isKept = file.size <= smallFileBytes && file.state === undefined;
  if (response.status !== 200 || request.method !== 'GET' || !isKept) return response;
  const bytes = await wholeFile((response.body as StreamBody).chunks, file.size);
  smallFiles.keep(served, bytes, moment, { file: stored, picture: nameOf(reader.picture) });
  return { ...response, body: bytes };
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
function nameOf(picture: WantedPicture | null): string {
  return picture === null ? '' : `${picture.preset}.${picture.format}`;
}

function cachingOf({ fileLinks }: Pick<DownloadDeps, 'fileLinks'>, { picture }: Reader): string {
  if (fileLinks === 'private') return privateCaching;
  return picture === null ? publicCaching : cachingFor(pictureCaching, false);
}

/**
 * Whether the client may send its request to the bucket. Most clients drop Authorization on the way to another host, and none
 * drops the header with a login token. HEAD needs an address of its own, and backups need our headers.
 */
function mayLeave(request: HttpRequest, { backup }: Reader): boolean {
  return request.method === 'GET' && !backup && request.header('token') === undefined;
}

/** Whether it is the uploader's token, which alone sees a file that waits for the virus scanner. */
function isUploader({ userId, bound }: Reader, file: CloudFile): boolean {
  if (file.state !== 'checking' || !isPublished({ ...file, state: undefined })) return false;
  return (
    file.ownerId === userId && (bound === undefined || (bound.user !== null && bound.user === file.owner))
  );
}

/** Further headers of its answers; undefined: none. */
function headersFor(
  { linkEnds, bound, backup, picture, caching }: Reader,
  { owner, expiresAt, state }: CloudFile,
  fileLinks: DownloadDeps['fileLinks'],
): Readonly<Record<string, string>> | undefined {
  if (state !== undefined) return unscannedHeaders;
  if (linkEnds !== null || bound !== undefined) return { 'cache-control': privateCaching };
  const owned = backup && owner !== undefined ? { 'sluice-file-owner': owner } : undefined;
  if (caching !== undefined) return { ...owned, 'cache-control': caching };
  if (expiresAt === undefined || fileLinks === 'private') return owned;
  // no copy outlives the file
  const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
  const longest = picture === null ? longestCaching : pictureCaching;
  return { ...owned, 'cache-control': cachingFor(Math.min(seconds, longest), picture === null) };
}

function cachingFor(seconds: number, isImmutable = true): string {
  return `public, max-age=${seconds}${isImmutable ? ', immutable' : ''}`;
}

/** Joins chunks. Throws unless their total is `size`. */
async function wholeFile(chunks: AsyncIterable<Uint8Array>, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  for await (const chunk of chunks) {
    if (filled + chunk.byteLength > size) throw new Error('the object is longer than its row says');
    bytes.set(chunk, filled);
    filled += chunk.byteLength;
  }
  if (filled < size) throw new Error('the object is shorter than its row says');
  return bytes;
}

/** Reads once the download has a slot, which it holds until the last byte is taken. */
function inTurn(
  downloads: ReaderSlots,
  owner: string,
  { signal }: HttpRequest,
  read: () => AsyncIterable<Uint8Array>,
): Pick<StreamBody, 'chunks' | 'cut'> {
  const cut = new AbortController();
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    const slot = await downloads.take(signal, owner);
    slot.onCut = () => {
      cut.abort(new Error('the download held up others'));
      slot.release();
    };
    try {
      for await (const chunk of read()) {
        yield chunk;
        slot.sent(chunk.byteLength);
      }
    } finally {
      slot.release();
    }
  }
  return { chunks: chunks(), cut: cut.signal };
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
  { links }: Pick<DownloadDeps, 'links'>,
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
  { authenticate, fileLinks }: DownloadDeps,
  request: HttpRequest,
  linked: boolean,
): Principal | null | Promise<Principal | null> {
  const identified = !linked && (fileLinks === 'private' || request.header('authorization') !== undefined);
  return identified ? authenticate(request) : null;
}

/** Throws 404 for a file of another account, or one that rules do not show, as for a missing one. */
function assertMayRead(
  { closed }: Pick<DownloadDeps, 'closed'>,
  file: CloudFile,
  { params }: HttpRequest,
  { userId, bound }: Reader,
): void {
  if (closed.has(file.ownerId)) throw fileNotFound();
  if (file.projectSlug !== params.project || (userId !== null && userId !== file.ownerId))
    throw fileNotFound();
  if (bound !== undefined && !touchable(bound, 'read')(file)) throw fileNotFound();
}
