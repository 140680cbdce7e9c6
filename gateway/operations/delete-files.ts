import { touchable } from '#catalogue/file-rules/touchable.ts';
import type { FilesPlace } from '#catalogue/file-uses/file-use.ts';
import { fileInUse, invalidBody } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { count, exactObject, named, string } from '#kernel/json/schema.ts';
import type { Handler } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer, jsonContent } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { type DeleteFileDeps, deletionDeadline } from './delete-file.ts';
import { nameOfUpload, type OperationDefinition } from './operation.ts';

/** The limit of S3's DeleteObjects. */
const mostNames = 1000;
const maxBodyBytes = 1_000_000;

export interface Failure {
  readonly name: string;
  readonly code: 'not_found' | 'file_in_use' | 'unavailable';
  readonly message: string;
}

export const deletionCounts = {
  deleted: { ...count, description: 'Number of deleted files' },
  failed: {
    type: 'array',
    items: exactObject({
      name: string,
      code: { type: 'string', enum: ['not_found', 'file_in_use', 'unavailable'] },
      message: string,
    }),
    description: 'Files that were not deleted',
  },
} as const;

const deletions = named('Deletions', exactObject(deletionCounts));

export const deleteFiles: OperationDefinition<DeleteFileDeps> = {
  summary: 'Delete files by their names',
  description:
    'Deletes each file like a single deletion. Files that can’t be deleted are listed; all others are deleted.',
  access: 'token',
  needs: { grant: 'files:delete', touches: 'beside spaces' },
  body: {
    description: 'The `name` of each CloudFile',
    content: jsonContent(
      {
        type: 'object',
        required: ['names'],
        properties: {
          names: {
            type: 'array',
            items: { type: 'string', maxLength: 200 },
            minItems: 1,
            maxItems: mostNames,
          },
        },
      },
      { names: ['0197a5c8-7c1e-4d3a-9b52-0c9f6e1d2a34_hello.txt'] },
    ),
  },
  answers: { 200: jsonAnswer('The number of deleted files, and the failures', deletions) },
  errors: [...accountErrors, ...bodyErrors, 'invalid_slug', 'unavailable'],
  sample: (base) =>
    nameOfUpload(base) +
    curl({ url: `${base}/_f_/demo/_delete_`, more: ['-d "{\\"names\\": [\\"$NAME\\"]}"'] }),
  handler: deleteFilesOperation,
};

/** POST /_f_/{project_slug}/_delete_: deletes files by their names, each as `deleteFileOperation` does one. */
function deleteFilesOperation(deps: DeleteFileDeps): Handler {
  const { authenticate, cloudFiles } = deps;
  return async (request) => {
    const project = readProjectSlug(request);
    const { userId, bound } = await authenticate(request);
    const mayDelete = touchable(bound, 'read', 'delete');
    const names = readNames(await readJson(request, maxBodyBytes));
    const failed: Failure[] = [];
    const find = (name: string) => (isStoredName(name) ? cloudFiles.findByName(name, request.signal) : null);
    const found: CloudFile[] = [];
    for (const [index, file] of (await Promise.all(names.map(find))).entries()) {
      if (file?.projectSlug === project && file.ownerId === userId && mayDelete(file)) found.push(file);
      else failed.push(missing(names[index] as string));
    }
    // the deletion completes even if the client disconnects
    const signal = AbortSignal.timeout(deletionDeadline);
    const more = await deleteFound(deps, { ownerId: userId, slug: project }, found, signal);
    return noStoreJson({ deleted: more.deleted, failed: [...failed, ...more.failed] });
  };
}

/** Deletes files of a project. @param found at most a thousand, which the sender may delete */
export async function deleteFound(
  { cloudFiles, store, quota, used, plans }: DeleteFileDeps,
  place: FilesPlace,
  found: readonly CloudFile[],
  signal: AbortSignal,
): Promise<{ readonly deleted: number; readonly failed: readonly Failure[] }> {
  const failed: Failure[] = [];
  const held = await used.hold(place, namesOf(found), signal);
  const files = found.filter(({ name }) => !held.inUse.has(name));
  for (const name of held.inUse) failed.push({ name, code: 'file_in_use', message: fileInUse().message });
  const keys = files.map(({ objectKey }) => objectKey);
  const left = new Set(
    await plans
      .closeFor(files, signal)
      .then(() => store.deleteAll(keys, signal))
      .catch(async (error: unknown) => {
        await held.release(namesOf(files)).catch(() => {});
        throw error;
      }),
  );
  let deleted = 0;
  const removed: string[] = [];
  const remove = async ({ name, objectKey }: CloudFile): Promise<void> => {
    if (left.has(objectKey)) {
      failed.push({ name, code: 'unavailable', message: 'The object store did not delete the file' });
      return;
    }
    if (await cloudFiles.remove(name, signal)) deleted++;
    else failed.push(missing(name));
    removed.push(name);
  };
  try {
    await Promise.all(files.map(remove));
  } finally {
    quota.freed(place.ownerId);
    held.deleted(removed);
    await held.release(namesOf(files.filter(({ objectKey }) => left.has(objectKey)))).catch(() => {});
  }
  return { deleted, failed };
}

function missing(name: string): Failure {
  return { name, code: 'not_found', message: 'There is no such file' };
}

function namesOf(files: readonly CloudFile[]): readonly string[] {
  return files.map(({ name }) => name);
}

function readNames(body: unknown): readonly string[] {
  const names: unknown = (body as { names?: unknown } | null)?.names;
  const fits = Array.isArray(names) && names.length > 0 && names.length <= mostNames;
  if (!fits || !names.every((name): name is string => typeof name === 'string' && name.length <= 200)) {
    throw invalidBody(`names should be an array of 1 to ${mostNames} file names`);
  }
  return [...new Set(names)];
}
