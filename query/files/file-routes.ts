import type { FileSenders } from '#auth/file-senders.ts';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor, touchable } from '#catalogue/file-rules/touchable.ts';
import type { Projects } from '#catalogue/projects.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { notFound } from '#kernel/errors/catalogue.ts';
import { arrayOf, named, type Schema } from '#kernel/json/schema.ts';
import type { List } from '#records/at-hand.ts';
import { moreGroupsHeader } from '#records/group-rows.ts';
import type { NextPage } from '#records/next-page.ts';
import type { Headers, HttpRequest, HttpResponse, Route } from '#server/http/http-types.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readJson } from '#server/http/read-json.ts';
import {
  type ApiOperation,
  accountErrors,
  bodyErrors,
  jsonContent,
  noStore,
  queryParameter,
} from '#server/openapi/api-operation.ts';
import { curl, keeping } from '#server/openapi/curl.ts';
import { underFileRules } from '#server/openapi/file-rules.ts';
import { describedTableChoices, tableReading } from '../imports/jobs/import-choices.ts';
import type { StoredFiles } from '../imports/jobs/stored-files.ts';
import { acceptQuery, requireQueryType } from '../input/query-media-type.ts';
import { groupHeaders, pageHeaders, queryableHeader } from '../openapi/filter-schemas.ts';
import { nextHeaders } from '../operations/next-headers.ts';
import { formatOf } from './file-format.ts';
import { isAggregation } from './file-query.ts';
import type { FileTables } from './file-tables.ts';

interface FileRouteParts {
  /** Binds requests by the rules of files. */
  readonly authenticate: FileSenders['authenticate'];
  readonly projects: Pick<Projects, 'files'>;
  readonly files: StoredFiles;
  readonly tables: FileTables;
  readonly config: Pick<Config, 'maxRecordBytes' | 'readLimits'>;
}

const path = '/_f_/:project/:name';
const queryRoutes = [
  { method: 'QUERY', path, id: 'queryFile', how: ', by QUERY (RFC 10008)', errors: ['wrong_content_type'] },
  { method: 'POST', path: `${path}/_find_`, id: 'queryFileByBody', how: '', errors: [] },
] as const;

const row: Schema = { type: 'object', additionalProperties: true };
const body = named('FileQuery', {
  type: 'object',
  additionalProperties: true,
  description:
    'Conditions on columns, and controls, as in find; or an aggregation, which has groupBy, values or both',
});
const example = { values: { rows: 'count' } };

function describe({ method, path, id, how, errors }: (typeof queryRoutes)[number]): ApiOperation {
  return {
    id,
    tag: 'Files',
    access: 'token',
    needs: { grant: 'files:read', touches: 'beside spaces' },
    summary: `Query a file as a table${how}`,
    description:
      'Queries a CSV, NDJSON or Parquet file in place; text files may be compressed with gzip. The first rows of the file decide the types of its columns.',
    pathParameters: {
      name: { description: 'The `name` of a CloudFile', schema: { type: 'string', minLength: 1 } },
    },
    parameters: describedTableChoices.map(({ name, description, schema }) =>
      queryParameter(name, description, schema),
    ),
    body: { description: 'JSON', content: jsonContent(body, example) },
    answers: {
      200: {
        description: 'The rows, or the groups',
        headers: { ...noStore, ...queryableHeader, ...pageHeaders, ...groupHeaders },
        content: jsonContent(arrayOf(row)),
      },
    },
    errors: [
      ...accountErrors,
      ...bodyErrors,
      ...errors,
      'invalid_slug',
      'invalid_condition',
      'invalid_options',
      'unreadable_file',
      'not_found',
      'unsupported_media_type',
      'query_too_expensive',
      'not_implemented',
    ],
    sample(base) {
      const upload = curl({ url: `${base}/_f_/demo/upload`, more: ["-F 'file=@-;filename=people.csv'"] });
      const making = `printf 'name,age\\nAda,36\\nGrace,45\\n' | ${keeping('NAME', 'name', upload)}`;
      const url = `${base}${path.replace(':project', 'demo').replace(':name', '$NAME')}`;
      return `${making}\n${curl({ method, url, body: example })}`;
    },
  };
}

/** QUERY /_f_/{project}/{name}, and POST /_f_/{project}/{name}/_find_ for proxies without support for QUERY. */
export function fileRoutes(deps: FileRouteParts): Route[] {
  return queryRoutes.map((route) => ({
    operation: route.id,
    method: route.method,
    path: route.path,
    api: underFileRules(describe(route)),
    ...(route.method === 'QUERY' ? { optionsHeaders: acceptQuery } : {}),
    compressed: true,
    handler: (request) => queryFile(deps, request),
  }));
}

/** Whether the sender may read a file, as far as its row says: the object of a file in the trash is still there. */
async function isReadable(
  files: Projects['files'],
  {
    place,
    name,
    bound,
  }: {
    readonly place: Parameters<Projects['files']['named']>[0];
    readonly name: string;
    readonly bound: BoundSender | undefined;
  },
  signal: AbortSignal,
): Promise<boolean> {
  const mayRead = touchable(bound, 'read');
  if (bound === undefined) return !(await files.isHidden(place, name, signal));
  const [file] = await files.named(place, [name], signal);
  return file !== undefined && mayRead(file);
}

async function queryFile(
  { authenticate, projects, files, tables, config }: FileRouteParts,
  request: HttpRequest,
): Promise<HttpResponse> {
  const { userId: ownerId, limits, bound } = await authenticate(request);
  requiredFor(bound, 'read');
  if (request.method === 'QUERY') requireQueryType(request);
  const projectSlug = readProjectSlug(request);
  const { name = '' } = request.params;
  const body = await readJson(request, config.maxRecordBytes);
  const place = { ownerId, slug: projectSlug };
  if (!(await isReadable(projects.files, { place, name, bound }, request.signal)))
    throw notFound('There is no such file');
  const object = await files.find({ ownerId, projectSlug, name }, request.signal);
  const format = formatOf(name, object);
  const { reading, rest: query } = tableReading(request.query, format, config.maxRecordBytes);
  const tokenTimeout = limits?.timeout;
  const cost = {
    timeout: tokenTimeout ?? config.readLimits.timeout,
    by: tokenTimeout === undefined ? 'READ_TIMEOUT_MS' : 'the access token',
  };
  let next: NextPage | null = null;
  const onNextPage = (page: NextPage): void => {
    next = page;
  };
  let groupsHeader: Headers | null = null;
  const onMoreGroups = (): void => {
    groupsHeader = moreGroupsHeader;
  };
  const chunks = await tables.query({
    ownerId,
    object,
    format,
    reading,
    query,
    body,
    request,
    cost,
    onNextPage,
    onMoreGroups,
  });
  const list = isAggregation(body) ? await whole(chunks) : await pageOf(chunks, next);
  const page = next as NextPage | null;
  const cursor = page?.cursorOf(list) ?? null;
  return {
    status: 200,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...acceptQuery,
      ...(page !== null && cursor !== null && nextHeaders(request, page, cursor)),
      ...(groupsHeader as Headers | null),
    },
    body: list instanceof Uint8Array ? list : { chunks: list },
  };
}

async function pageOf(chunks: AsyncIterable<Uint8Array>, next: NextPage | null): Promise<List> {
  return next === null ? chunks : next.taken(chunks);
}

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
