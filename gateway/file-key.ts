import { slugProblem } from '../common/metadata/slug.ts';
import { isStoredName } from './file-name.ts';

/** What makes the key of a file's object. */
export interface FileKeyParts {
  readonly deploymentId: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  readonly name: string;
}

/**
 * `<deployment>/<owner>/<project_slug>/<name>`. The deployment comes first, so that whatever lists a bucket that is shared
 * sees its own objects and uploads alone: S3 tells nothing of an open upload but its key.
 */
export function fileKey({ deploymentId, ownerId, projectSlug, name }: FileKeyParts): string {
  return `${deploymentId}/${ownerId}/${projectSlug}/${name}`;
}

/** What `fileKey` made the key of; null: it did not. */
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

/** The last segment of a key. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
