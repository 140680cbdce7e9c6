import type { Authenticate } from '../../common/auth/authenticate.ts';
import { invalidSlug, noSuchProject } from '../../common/errors/catalogue.ts';
import type { Handler, QueryPairs } from '../../common/http/http-types.ts';
import { ListQuery } from '../../common/http/list-query.ts';
import type { CloudFile, CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { FileQuery } from '../../common/metadata/file-list.ts';
import type { Projects } from '../../common/metadata/projects.ts';
import { slugProblem } from '../../common/metadata/slug.ts';
import { cloudFileJson } from '../cloud-file-json.ts';
import { mediaTypeFilterProblem } from '../media-type.ts';

export interface ListFilesDeps {
  readonly authenticate: Authenticate;
  readonly projects: Pick<Projects, 'find'>;
  readonly cloudFiles: Pick<CloudFiles, 'list'>;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
}

export const longestName = 200;
export const afterPattern =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** GET /_f_/{project_slug}: a page of the files of a project, newest first. */
export function listFilesOperation({ authenticate, projects, cloudFiles, fileUrl }: ListFilesDeps): Handler {
  return async (request) => {
    const { userId: ownerId } = await authenticate(request);
    const { signal } = request;
    const projectSlug = request.params.project ?? '';
    const problem = slugProblem('project', projectSlug);
    if (problem !== null) throw invalidSlug([problem]);
    const query = readQuery(request.query);
    // one more says whether there is another page
    const found = await cloudFiles.list({ ...query, ownerId, projectSlug, limit: query.limit + 1 }, signal);
    if (found.length === 0 && (await projects.find(ownerId, projectSlug, signal)) === null) {
      throw noSuchProject(projectSlug);
    }
    const files = found.slice(0, query.limit);
    const last = files.at(-1);
    return {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
      body: JSON.stringify({
        files: files.map((file) => ({
          ...cloudFileJson(file, fileUrl(file)),
          contentType: file.contentType,
          size: file.size,
        })),
        next:
          last === undefined || found.length <= query.limit
            ? null
            : `${last.createdAt.toISOString()}_${last.id}`,
      }),
    };
  };
}

function readQuery(pairs: QueryPairs): Omit<FileQuery, 'ownerId' | 'projectSlug'> {
  const query = new ListQuery(pairs, ['limit', 'after', 'name', 'type', 'from', 'to']);
  const limit = query.limit();
  const name = query.text('name', (text) =>
    text === '' || text.length > longestName ? `should have 1 to ${longestName} characters` : null,
  );
  const type = query.text('type', mediaTypeFilterProblem)?.toLowerCase();
  const range = { from: query.from('from'), to: query.to('to') };
  const cursor = query.text('after', (text) =>
    readCursor(text) === undefined ? 'should be the next of another page' : null,
  );
  query.finish();
  return { limit, name, type, ...range, after: cursor === undefined ? undefined : readCursor(cursor) };
}

function readCursor(text: string): FileQuery['after'] {
  const [, time = '', id = ''] = afterPattern.exec(text) ?? [];
  const createdAt = new Date(time);
  return Number.isNaN(createdAt.getTime()) ? undefined : { createdAt, id };
}
