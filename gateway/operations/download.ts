import type { Authenticate } from '../../common/auth/authenticate.ts';
import { linkRefused } from '../../common/errors/catalogue.ts';
import { addressOwner } from '../../common/http/address-owner.ts';
import type { Handler, HttpRequest, StreamBody } from '../../common/http/http-types.ts';
import type { CloudFile, CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { ByteRange, ObjectStore } from '../../common/object-store/object-store.ts';
import { parseRange } from '../byte-range.ts';
import { isNotModified, rangeApplies } from '../conditional.ts';
import { servingHeaders } from '../content-type-policy.ts';
import type { DownloadSlots } from '../download/download-slots.ts';
import type { FileLinks } from '../file-links.ts';
import { isStoredName } from '../file-name.ts';
import { fileNotFound, objectBytes } from '../object-bytes.ts';

export interface DownloadDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findByName'>;
  readonly store: ObjectStore;
  readonly downloads: DownloadSlots;
  readonly links: Pick<FileLinks, 'isGood'>;
  /** public: who knows a file's address may read it. private: only its owner. */
  readonly fileLinks: 'public' | 'private';
}

/** GET /_f_/{project_slug}/{name}: a stored file, whole or in part. */
export function downloadOperation(deps: DownloadDeps): Handler {
  return async (request) => {
    const linked = await isLinked(deps, request);
    const { file, owner } = await findFile(deps, request, linked);
    const state = { etag: `"${file.id}"`, lastModified: file.createdAt };
    const header = (name: string) => request.header(name);
    const cacheHeaders = {
      etag: state.etag,
      'last-modified': state.lastModified.toUTCString(),
      // what is stored under a name never changes
      'cache-control':
        deps.fileLinks === 'public' && !linked ? 'public, max-age=31536000, immutable' : 'private, no-cache',
    };
    // RFC 9110 section 13.2.2: preconditions come before Range
    if (isNotModified(header, state)) return { status: 304, headers: cacheHeaders };
    const range = readRange(request, file.size, rangeApplies(header('if-range'), state));
    return {
      status: range === null ? 200 : 206,
      headers: {
        ...servingHeaders(file.contentType, file.originalName),
        ...cacheHeaders,
        'accept-ranges': 'bytes',
        ...(range === null ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${file.size}` }),
      },
      body: {
        ...inTurn(deps.downloads, owner, request, () =>
          objectBytes(deps.store, file.objectKey, range, request.signal),
        ),
        length: range === null ? file.size : range.end - range.start + 1,
      },
    };
  };
}

/** The bytes once there is a slot for the download, which is held until the last one is taken. */
function inTurn(
  downloads: DownloadSlots,
  owner: string,
  { signal }: HttpRequest,
  read: () => AsyncIterable<Uint8Array>,
): Pick<StreamBody, 'chunks' | 'cut'> {
  const cut = new AbortController();
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    const slot = await downloads.take(owner, { signal, cut: (reason) => cut.abort(reason) });
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

/** RFC 9110 section 14.2: Range means something for GET only. */
function readRange(request: HttpRequest, size: number, applies: boolean): ByteRange | null {
  return request.method === 'GET' && applies ? parseRange(request.header('range'), size) : null;
}

/** Whether a link that expires stands for a token. Throws 403 when it is over, or none of ours. */
async function isLinked({ links }: DownloadDeps, { query, params }: HttpRequest): Promise<boolean> {
  const values = (wanted: string) => query.filter(([name]) => name === wanted).map(([, value]) => value);
  const [expires, ...moreExpires] = values('expires');
  const [signature, ...moreSignatures] = values('signature');
  if (expires === undefined && signature === undefined) return false;
  const once = moreExpires.length === 0 && moreSignatures.length === 0;
  const { project: projectSlug = '', name = '' } = params;
  const good = once && (await links.isGood({ projectSlug, name }, expires ?? '', signature ?? ''));
  if (!good) throw linkRefused();
  return true;
}

/** The file, and who asks for it. Throws 401 for a bad token, and 404 for a file that does not exist or belongs to somebody else alike. */
async function findFile(
  { authenticate, cloudFiles, fileLinks }: DownloadDeps,
  request: HttpRequest,
  linked: boolean,
): Promise<{ file: CloudFile; owner: string }> {
  const identified = !linked && (fileLinks === 'private' || request.header('authorization') !== undefined);
  const principal = identified ? await authenticate(request) : null;
  const { project, name = '' } = request.params;
  const file = isStoredName(name) ? await cloudFiles.findByName(name, request.signal) : null;
  if (file === null || file.projectSlug !== project) throw fileNotFound();
  if (principal !== null && principal.userId !== file.ownerId) throw fileNotFound();
  return { file, owner: principal?.userId ?? addressOwner(request.address) };
}
