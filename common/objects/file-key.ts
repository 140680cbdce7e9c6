import { isUuid } from '#kernel/ids/is-uuid.ts';
import { slugProblem } from '#kernel/ids/slug.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';

/** The segments of the key of a file's object. */
export interface FileKeyParts {
  readonly deploymentId: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  readonly name: string;
}

/**
 * `<deployment>/<owner>/<project_slug>/<name>`. The deployment comes first, so that it can list only its own objects and
 * uploads in a shared bucket: S3 lists an open upload with nothing but its key.
 */
export function fileKey({ deploymentId, ownerId, projectSlug, name }: FileKeyParts): string {
  return `${deploymentId}/${ownerId}/${projectSlug}/${name}`;
}

/** The parts of a key that `fileKey` made; null: it is not such a key. */
export function readFileKey(key: string): FileKeyParts | null {
  const [deploymentId = '', ownerId = '', projectSlug = '', name = '', ...more] = key.split('/');
  const ours =
    more.length === 0 &&
    isUuid(deploymentId) &&
    isUuid(ownerId) &&
    slugProblem('project', projectSlug) === null &&
    isStoredName(name);
  return ours ? { deploymentId, ownerId, projectSlug, name } : null;
}

/** Key of an object with which a starting process checks the store. If the process dies, the janitor removes it. */
export function checkKey(deploymentId: string, id: string): string {
  return `${deploymentId}/_check/${id}`;
}

/** The deployment of such a key; null: it is not such a key. */
export function readCheckKey(key: string): { readonly deploymentId: string } | null {
  const [deploymentId = '', mark, id = '', ...more] = key.split('/');
  const ours = more.length === 0 && mark === '_check' && isUuid(deploymentId) && isUuid(id);
  return ours ? { deploymentId } : null;
}

/** The last segment of a key. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
