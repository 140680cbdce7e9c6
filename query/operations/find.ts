import { arrayOf } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import { listReading, type NextPage, nextPage } from '#records/next-page.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { askedConditions, parseAsked } from '../input/asked-conditions.ts';
import { eventStream } from '../live/live-events.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { controlParameters, foundHeaders, pageHeaders } from '../openapi/filter-schemas.ts';
import { type CachedCall, cachedList, cachedRecord, type Reading } from './cached-answer.ts';
import { queryableJson } from './json-answer.ts';
import type { OperationCall, OperationDefinition, OperationDeps } from './operation.ts';
import { preparePopulate } from './populate.ts';

/** The parameters of find and findOne, and the common parts of their answers. */
const foundRecords = {
  parameters: ({ conditions }) => [...conditions, ...controlParameters],
  timed: true,
  options: true,
  answerHeaders: foundHeaders,
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { query: '?name=Ada' },
} satisfies Partial<OperationDefinition>;

/** GET /{project}/{space} (interface.md section 4.3). */
export const find: OperationDefinition = {
  run: (call, deps) =>
    call.request.header('accept')?.includes(eventStream)
      ? deps.live(call.request, () => askedConditions(call.request, call.body))
      : answerAsked('find', call, deps, cachedList, (space, plan, next) =>
          listReading(deps.reader, { space, plan, next, signal: call.request.signal }),
        ),
  summary: 'Find records',
  description:
    'The records that match, in a JSON array. With `QUERY` at the same address, or `POST` at `_find_`, the conditions come in the body. With `Accept: text/event-stream` the find stays open (docs/live.md).',
  ...foundRecords,
  answerHeaders: { ...foundHeaders, ...pageHeaders },
  errors: [...foundRecords.errors, 'too_many_records', 'too_many_streams', 'not_implemented'],
  answer: ({ found }) => arrayOf(found),
};

/**
 * GET /{project}/{space}/_single_ (interface.md section 4.4). A page begins where find's would: its limit does not matter,
 * its offset does.
 */
export const findOne: OperationDefinition = {
  run: (call, deps) =>
    answerAsked('findOne', call, deps, cachedRecord, (space, plan) => ({
      now() {
        return deps.reader.firstNow(space, plan);
      },
      read() {
        return deps.reader.first(space, plan, call.request.signal);
      },
    })),
  summary: 'Find one record',
  description: 'The first record that matches, or `null`.',
  ...foundRecords,
  answer: ({ foundOrNull }) => foundOrNull,
};

/** @param operation is kept apart from the other one that is asked the same */
function answerAsked<Result>(
  operation: string,
  call: OperationCall,
  deps: OperationDeps,
  cached: (call: CachedCall, prepare: () => Reading<Result>) => HttpResponse | Promise<HttpResponse>,
  readings: (
    space: RecordSpace,
    plan: ReadPlan,
    next: NextPage | null,
  ) => Pick<Reading<Result>, 'now' | 'read'>,
): HttpResponse | Promise<HttpResponse> {
  const { request, body } = call;
  return continueWith(call.open(), (space) =>
    continueWith(askedConditions(request, body), (asked) =>
      // no spreads: they cost a fifth of a kept answer
      cached({ call, deps, space, asked: `${operation} ${asked.key}`, headers: queryableJson }, () => {
        const { options, conditions } = parseAsked(asked, request, space.structure);
        const { sort, page, select, count } = options;
        const populate = preparePopulate(deps, request, space, select);
        const next = operation === 'find' ? nextPage(options, space.structure) : null;
        const read = next === null ? select : next.select;
        const plan = { sort, page, select: read, conditions, tell: call.timing?.tell };
        const total = count ? () => deps.reader.total(space, plan, request.signal) : null;
        return { conditions, populate, total, next, ...readings(space, plan, next) };
      }),
    ),
  );
}
