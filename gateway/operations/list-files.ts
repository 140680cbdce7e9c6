import type { Authenticate } from '../../common/auth/authenticate.ts';
import { invalidSlug, noSuchProject } from '../../common/errors/catalogue.ts';
import type { Handler, QueryPairs } from '../../common/http/http-types.ts';
import { ListQuery } from '../../common/http/list-query.ts';
import type { CloudFile, CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { FileCursor, FileQuery } from '../../common/metadata/file-list.ts';
import type { Projects } from '../../common/metadata/projects.ts';
import { slugProblem } from '../../common/metadata/slug.ts';
import { cloudFileJson } from '../cloud-file-json.ts';
import { mediaTypeFilterProblem } from '../media-type.ts';

export interface ListFilesDeps {
  readonly authenticate: Authenticate;
  readonly projects: Pick<Projects, 'find'>;
  readonly cloudFiles: Pick<CloudFiles, 'list' | 'count'>;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
}

export const longestName = 200;
export const afterPattern =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_([0-9a-f]{0,8000}))?$/;
export const sorts = ['createdAt', 'name'] as const;
export const orders = ['asc', 'desc'] as const;

/** GET /_f_/{project_slug}: a page of the files of a project, newest first unless the query says otherwise. */
export function listFilesOperation({ authenticate, projects, cloudFiles, fileUrl }: ListFilesDeps): Handler {
  return async (request) => {
    const { userId: ownerId } = await authenticate(request);
    const { signal } = request;
    const projectSlug = request.params.project ?? '';
    const problem = slugProblem('project', projectSlug);
    if (problem !== null) throw invalidSlug([problem]);
    const { counts, ...asked } = readQuery(request.query);
    const query = { ...asked, ownerId, projectSlug };
    // one more says whether there is another page
    const [found, count] = await Promise.all([
      cloudFiles.list({ ...query, limit: query.limit + 1 }, signal),
      counts ? cloudFiles.count(query, signal) : undefined,
    ]);
    if (found.length === 0 && (await projects.find(ownerId, projectSlug, signal)) === null) {
      throw noSuchProject(projectSlug);
    }
    const files = found.slice(0, query.limit);
    const last = files.at(-1);
    return {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
      body: JSON.stringify({
        files: files.map((file) => cloudFileJson(file, fileUrl(file))),
        next: last === undefined || found.length <= query.limit ? null : cursorOf(last, query),
        count,
      }),
    };
  };
}

type Asked = Omit<FileQuery, 'ownerId' | 'projectSlug'> & { readonly counts: boolean };

function readQuery(pairs: QueryPairs): Asked {
  const known = ['limit', 'after', 'name', 'type', 'from', 'to', 'sort', 'order', 'count'];
  const query = new ListQuery(pairs, known);
  const limit = query.limit();
  const name = query.text('name', (text) =>
    text === '' || text.length > longestName ? `should have 1 to ${longestName} characters` : null,
  );
  const type = query.text('type', mediaTypeFilterProblem)?.toLowerCase();
  const range = { from: query.from('from'), to: query.to('to') };
  const byName = query.choice('sort', sorts) === 'name';
  const cursor = query.text('after', (text) =>
    readCursor(text, byName) === undefined ? 'should be the next of another page' : null,
  );
  const ascending = query.choice('order', orders) === 'asc';
  const counts = query.choice('count', ['true', 'false']) === 'true';
  query.finish();
  const after = cursor === undefined ? undefined : readCursor(cursor, byName);
  return { limit, name, type, ...range, byName, ascending, after, counts };
}

/** The name is there where the order needs it. */
function cursorOf({ createdAt, id, originalName }: CloudFile, { byName }: Pick<FileQuery, 'byName'>): string {
  const place = `${createdAt.toISOString()}_${id}`;
  return byName ? `${place}_${Buffer.from(originalName).toString('hex')}` : place;
}

function readCursor(text: string, byName: boolean): FileCursor | undefined {
  const [, time = '', id = '', name] = afterPattern.exec(text) ?? [];
  const createdAt = new Date(time);
  if (Number.isNaN(createdAt.getTime()) || (name !== undefined) !== byName) return undefined;
  return { createdAt, id, originalName: Buffer.from(name ?? '', 'hex').toString() };
}
