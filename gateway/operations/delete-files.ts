import { touchable } from '#catalogue/file-rules/touchable.ts';
import type { FilesPlace } from '#catalogue/file-uses/file-use.ts';
import { fileInUse, invalidBody } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { count, exactObject, named, string } from '#kernel/json/schema.ts';
import { keysAtOnce } from '#objects/object-store.ts';
import type { Handler } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer, jsonContent } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { type DeleteFileDeps, deletionDeadline, isDeletable } from './delete-file.ts';
import { nameOfUpload, type OperationDefinition } from './operation.ts';

const mostNames = keysAtOnce;
const maxBodyBytes = 1_000_000;

export interface Failure {
  readonly name: string;
  readonly code: 'not_found' | 'file_in_use' | 'unavailable';
  readonly message: string;
}

/** What a request deletes. */
export interface DeletionOrder {
  readonly place: FilesPlace;
  readonly found: readonly CloudFile[];
  /** Not by way of the trash. */
  readonly atOnce: boolean;
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
    'Deletes each file like a single deletion: with TRASH_DAYS, files are in the trash first. Files that can’t be deleted are listed; all others are deleted.',
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
          trash: {
            type: 'boolean',
            default: true,
            description: 'false: the files are gone at once, also from the trash',
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
    const { names, atOnce } = readOrder(await readJson(request, maxBodyBytes));
    const failed: Failure[] = [];
    const find = (name: string) => (isStoredName(name) ? cloudFiles.findAny(name, request.signal) : null);
    const found: CloudFile[] = [];
    for (const [index, file] of (await Promise.all(names.map(find))).entries()) {
      const isOwn = file?.projectSlug === project && file.ownerId === userId && mayDelete(file);
      if (isOwn && isDeletable(file, atOnce)) found.push(file);
      else failed.push(missing(names[index] as string));
    }
    const order = { place: { ownerId: userId, slug: project }, found, atOnce };
    // the deletion completes even if the client disconnects
    const more = await deleteFound(deps, order, deletionDeadline());
    return noStoreJson({ deleted: more.deleted, failed: [...failed, ...more.failed] });
  };
}

/** Deletes files of a project. @param order.found at most a thousand, which the sender may delete */
export async function deleteFound(
  deps: DeleteFileDeps,
  { place, found, atOnce }: DeletionOrder,
  signal: AbortSignal,
): Promise<{ readonly deleted: number; readonly failed: readonly Failure[] }> {
  const { cloudFiles, quota, used } = deps;
  const failed: Failure[] = [];
  const held = await used.hold(place, namesOf(found), signal);
  const files = found.filter(({ name }) => !held.inUse.has(name));
  for (const name of held.inUse) failed.push({ name, code: 'file_in_use', message: fileInUse().message });
  const { kept, left } = await deleteObjects(deps, { files, atOnce }, signal).catch(
    async (error: unknown) => {
      await held.release(namesOf(files)).catch(() => {});
      throw error;
    },
  );
  let deleted = kept.size;
  const removed = [...kept];
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
    await Promise.all(files.filter(({ name }) => !kept.has(name)).map(remove));
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

/** Puts files in the trash, or deletes their objects. @returns names of the first, and keys that were not deleted */
async function deleteObjects(
  { store, plans, trash }: Pick<DeleteFileDeps, 'store' | 'plans' | 'trash'>,
  { files, atOnce }: { readonly files: readonly CloudFile[]; readonly atOnce: boolean },
  signal: AbortSignal,
): Promise<{ readonly kept: ReadonlySet<string>; readonly left: ReadonlySet<string> }> {
  const kept = new Set(atOnce ? [] : files.filter((file) => trash.takes(file)));
  const keys = files.filter((file) => !kept.has(file)).map(({ objectKey }) => objectKey);
  await plans.closeFor(files, signal);
  await trash.put([...kept], signal);
  const left = keys.length === 0 && kept.size > 0 ? [] : await store.deleteAll(keys, signal);
  return { kept: new Set(namesOf([...kept])), left: new Set(left) };
}

function namesOf(files: readonly CloudFile[]): readonly string[] {
  return files.map(({ name }) => name);
}

function readOrder(body: unknown): { readonly names: readonly string[]; readonly atOnce: boolean } {
  const { names, trash = true } = (body ?? {}) as { names?: unknown; trash?: unknown };
  const fits = Array.isArray(names) && names.length > 0 && names.length <= mostNames;
  if (!fits || !names.every((name): name is string => typeof name === 'string' && name.length <= 200)) {
    throw invalidBody(`names should be an array of 1 to ${mostNames} file names`);
  }
  if (typeof trash !== 'boolean') throw invalidBody('trash should be true or false');
  return { names: [...new Set(names)], atOnce: !trash };
}
