import type { ReadMoment } from '#coordination/redis/freshness.ts';
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
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { answerFile, servedFile } from '../download/answer-file.ts';
import { assertShown } from '../download/assert-shown.ts';
import { cachingOf, headersFor } from '../download/caching.ts';
import { validatorsOf } from '../download/conditional.ts';
import type { DirectDownloads } from '../download/direct-downloads.ts';
import { fileNotFound, objectBytes, wholeFile } from '../download/object-bytes.ts';
import { readInTurn } from '../download/read-in-turn.ts';
import { redirectToBucket } from '../download/redirect-to-bucket.ts';
import { type SmallFiles, smallFileBytes } from '../download/small-files.ts';
import type { Pictures } from '../images/pictures.ts';
import { anyFile, fileName, nameOfUpload, type OperationDefinition } from './operation.ts';
import {
  assertMayRead,
  endOfLink,
  identify,
  isUploader,
  mayLeave,
  nameOf,
  type Reader,
  type ReaderDeps,
  readerOf,
} from './reader.ts';

export interface DownloadDeps extends ReaderDeps {
  readonly cloudFiles: Pick<CloudFiles, 'findAny'>;
  readonly store: ObjectStore;
  readonly downloads: ReaderSlots;
  readonly smallFiles: SmallFiles;
  /** null: no download leads to the bucket. */
  readonly redirects: DirectDownloads | null;
  readonly pictures: Pick<Pictures, 'of'>;
}

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
  const caching = cachingOf(deps.fileLinks, reader);
  const served = servedFile(file, { cacheControl: caching, vary }, validators);
  const response = answerFile(request, served, headersFor(reader, file, deps.fileLinks), (range) => ({
    ...readInTurn(downloads, owner, request, () => read(range)),
    length: range === null ? file.size : range.end - range.start + 1,
  }));
  const isKept = file.size <= smallFileBytes && file.state === undefined;
  if (response.status !== 200 || request.method !== 'GET' || !isKept) return response;
  const bytes = await wholeFile((response.body as StreamBody).chunks, file.size);
  smallFiles.keep(served, bytes, moment, { file: stored, picture: nameOf(reader.picture) });
  return { ...response, body: bytes };
}
