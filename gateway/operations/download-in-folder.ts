import { linkRefused } from '#kernel/errors/catalogue.ts';
import type { Handler } from '#server/http/http-types.ts';
import { curl } from '#server/openapi/curl.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { privateCaching } from '../download/caching.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import { mayLeaveFolder } from '../folders/may-leave-folder.ts';
import { type AddressedPlace, readPlace } from '../folders/read-place.ts';
import type { FileLinks } from '../links/file-links.ts';
import { answerStored, cachedAnswer, type DownloadDeps, download } from './download.ts';
import type { OperationDefinition } from './operation.ts';
import { folderId, folderSample, pathInFolder } from './put-in-folder.ts';
import { endOfLink, hasLink, identify, readerOf } from './reader.ts';

/** A path may get another file at any time. */
const publicCaching = 'public, no-cache';

export interface DownloadInFolderDeps extends DownloadDeps {
  readonly cloudFiles: Pick<CloudFiles, 'findAny' | 'findInFolder'>;
  readonly links: Pick<FileLinks, 'isGood' | 'isGoodFolder'>;
}

export const downloadInFolder: OperationDefinition<DownloadInFolderDeps> = {
  ...download,
  summary: 'Download a file of a folder',
  description:
    'The `s3Link` of a CloudFile in a folder. The link of a folder has a segment before the path, which stands for a token. With FILE_LINKS=private it needs the token of the owner or a link.',
  pathParameters: { folder: folderId, rest: pathInFolder },
  // the path of a file that has expired is free
  errors: [...download.errors.filter((code) => code !== 'file_expired'), 'malformed_request'],
  head: { id: 'checkFileInFolder', summary: 'Get the headers of a file of a folder', statuses: [200, 304] },
  sample: (base) => folderSample(base) + curl({ url: `${base}/_f_/demo/$FOLDER/page/index.txt` }),
  handler: downloadInFolderOperation,
};

/** GET /_f_/{project_slug}/{folder}/{rest}, and below the segment of a signed folder. */
function downloadInFolderOperation(deps: DownloadInFolderDeps): Handler {
  const { cloudFiles, fileLinks, smallFiles } = deps;
  const caching = fileLinks === 'public' ? publicCaching : privateCaching;
  return async (request) => {
    const { project = '', rest = '' } = request.params;
    const byLink = hasLink(request);
    const principal = await identify(deps, request, byLink || rest.startsWith('~'));
    const { signed, ...place } = readPlace(request);
    const folderEnds = await endOfFolderLink(deps, project, { signed, ...place });
    const moment = smallFiles.begin();
    const file = await cloudFiles.findInFolder(place, request.signal);
    // a stranger may not ask what there is
    if (file === null) throw byLink ? linkRefused() : fileNotFound();
    // the link of one file names it
    const linkEnds = folderEnds ?? (await endOfLink(deps, request, file.name));
    const reader = { ...readerOf(request, principal, linkEnds), caching, stays: !mayLeaveFolder(file) };
    return (
      cachedAnswer(deps, request, reader, file.name) ??
      answerStored(deps, request, reader, { stored: file, moment })
    );
  };
}

/** When the signed segment ends, in seconds since 1970; null: there is none. Throws 403 for one that is not good. */
async function endOfFolderLink(
  { links }: Pick<DownloadInFolderDeps, 'links'>,
  projectSlug: string,
  { signed, folder }: AddressedPlace,
): Promise<number | null> {
  if (signed === null) return null;
  const { expires, signature } = signed;
  if (!(await links.isGoodFolder({ projectSlug, folder }, expires, signature))) throw linkRefused();
  return Number(expires);
}
