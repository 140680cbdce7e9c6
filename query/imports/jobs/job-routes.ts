import { setTimeout as sleep } from 'node:timers/promises';
import { type Authenticate, assertGranted } from '#auth/authenticate.ts';
import { notFound } from '#kernel/errors/catalogue.ts';
import { inSpace } from '#kernel/grants.ts';
import { arrayOf, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import { exampleStructure } from '#records/structure/example-structure.ts';
import { comment, eventStream, oneLine } from '#server/http/event-stream.ts';
import type { HttpRequest, HttpResponse, Route } from '#server/http/http-types.ts';
import { describeList, limitParameter, readListQuery, textParameter } from '#server/http/list-parameters.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { accountErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl, keeping } from '#server/openapi/curl.ts';
import { type ImportJob, isOver, jobJson } from './import-job.ts';
import type { Imports } from './imports.ts';
import { jobSchema } from './job-schema.ts';

const insertGrant = inSpace('insert');

interface JobRouteParts {
  readonly imports: Imports;
  readonly authenticate: Authenticate;
}

/** Milliseconds between two events of one job. */
const eventEvery = 500;
const idPattern = /^[0-9a-f-]{36}$/;

const parameters = {
  limit: limitParameter,
  after: textParameter('The `next` of the previous page', { pattern: idPattern.source }, (text) =>
    idPattern.test(text) ? null : 'should be the id of a job',
  ),
};

const pathParameters = { job: { description: 'Id of an import', schema: string } };
const jobs = named('Jobs', exactObject({ jobs: arrayOf(jobSchema), next: nullable(string) }));
const usualLimit = 100;

type JobRoute = Pick<Route, 'method' | 'path'> & {
  readonly name: string;
  readonly api: Omit<NonNullable<Route['api']>, 'id' | 'tag' | 'access' | 'needs'>;
  run(deps: JobRouteParts, request: HttpRequest, access: JobAccess): Promise<HttpResponse>;
};

/** The account of a request, and the jobs that its token may see. */
interface JobAccess {
  readonly ownerId: string;
  /** Throws a 404 or 403. */
  requireJob(job: ImportJob | null): ImportJob;
  isGranted(job: ImportJob): boolean;
}

/** Shell commands that start an import, and keep its id in JOB. */
function importSample(base: string): string {
  const structure = { ...exampleStructure, projectSlug: 'shop', slug: 'guests' };
  const url = `${base}/shop/guests`;
  const insert = curl({ url, headers: { structure }, body: [{ name: 'Ada', age: 36 }] });
  const more = ["-H 'Content-Type: text/csv'", "--data-binary $'name,age\\nGrace,45\\n'"];
  return `${insert}\n${keeping('JOB', 'id', curl({ url: `${url}/_import_`, more }))}\n`;
}

const routes: readonly JobRoute[] = [
  {
    name: 'listJobs',
    method: 'GET',
    path: '/_jobs_',
    api: {
      summary: 'List the imports of the account',
      description: 'Newest first. Imports are kept for 30 days.',
      parameters: describeList(parameters),
      answers: { 200: jsonAnswer('A page of imports', jobs) },
      errors: [...accountErrors, 'invalid_condition'],
      sample: (base) => curl({ url: `${base}/_jobs_` }),
    },
    async run({ imports }, request, { ownerId, isGranted }) {
      const { limit = usualLimit, after = null } = readListQuery(parameters, request.query);
      const found = await imports.list(ownerId, { limit: limit + 1, before: after }, request.signal);
      const page = found.slice(0, limit);
      const next = found.length > limit ? (page.at(-1)?.id ?? null) : null;
      return noStoreJson({ jobs: page.filter(isGranted).map(jobJson), next });
    },
  },
  {
    name: 'getJob',
    method: 'GET',
    path: '/_jobs_/:job',
    api: {
      summary: 'Get an import',
      description: `Its state and progress. With \`Accept: ${eventStream}\`, an event for each change until it ends.`,
      pathParameters,
      answers: {
        200: {
          description: 'The job',
          content: { 'application/json': { schema: jobSchema }, [eventStream]: { schema: string } },
        },
      },
      errors: [...accountErrors, 'not_found'],
      sample: (base) => `${importSample(base)}${curl({ url: `${base}/_jobs_/$JOB` })}`,
    },
    async run({ imports }, request, { ownerId, requireJob }) {
      const { job: id = '' } = request.params;
      const job = requireJob(await imports.find(ownerId, id, request.signal));
      if (request.header('accept')?.includes(eventStream) !== true) return noStoreJson(jobJson(job));
      return {
        status: 200,
        headers: { 'content-type': eventStream, 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
        body: { chunks: eventsOf(imports, job, request.signal), filler: comment },
      };
    },
  },
  {
    name: 'cancelJob',
    method: 'DELETE',
    path: '/_jobs_/:job',
    api: {
      summary: 'Cancel an import',
      description:
        'All of its records are stored, or none: the answer says which. An import that has ended stays as it is.',
      pathParameters,
      answers: { 200: jsonAnswer('The job', jobSchema) },
      errors: [...accountErrors, 'not_found'],
      sample: (base) => `${importSample(base)}${curl({ method: 'DELETE', url: `${base}/_jobs_/$JOB` })}`,
    },
    async run({ imports }, request, { ownerId, requireJob }) {
      const { job: id = '' } = request.params;
      const job = requireJob(await imports.find(ownerId, id, request.signal));
      return noStoreJson(jobJson(await imports.cancel(job, request.signal)));
    },
  },
];

/** Imports as their account sees them. A token sees imports into record spaces that it may insert into. */
export function jobRoutes(deps: JobRouteParts): Route[] {
  return routes.map(({ name, method, path, api, run }) => ({
    operation: name,
    method,
    path,
    api: {
      id: name,
      tag: 'Jobs',
      access: 'token',
      needs: { grant: 'insert', touches: 'named space' },
      ...api,
    },
    async handler(request) {
      const { userId: ownerId, grants } = await deps.authenticate(request);
      const requireJob = (job: ImportJob | null): ImportJob => {
        if (job === null) throw notFound('There is no such job');
        assertGranted(grants, insertGrant, { project: job.project, space: job.space });
        return job;
      };
      const isGranted = (job: ImportJob): boolean => {
        try {
          return requireJob(job) === job;
        } catch {
          return false;
        }
      };
      return run(deps, request, { ownerId, requireJob, isGranted });
    },
  }));
}

async function* eventsOf(
  imports: Imports,
  first: ImportJob,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let shown = '';
  for (let job: ImportJob | null = first; job !== null; ) {
    const text = JSON.stringify(jobJson(job));
    if (text !== shown) yield Buffer.from(`data: ${oneLine(text)}\n\n`);
    shown = text;
    if (isOver(job)) return;
    await sleep(eventEvery, undefined, { signal });
    job = await imports.find(first.ownerId, first.id, signal);
  }
}
