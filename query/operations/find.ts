import { arrayOf } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { nextPage } from '#records/next-page.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { askedConditions, parseAsked } from '../input/asked-conditions.ts';
import { eventStream } from '../live/live-events.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { controlParameters, foundHeaders, pageHeaders } from '../openapi/filter-schemas.ts';
import { type ListPlan, ListRead } from './list-read.ts';
import type { OperationCall, OperationDefinition, OperationDeps } from './operation.ts';
import { preparePopulate } from './populate.ts';
import { type RecordPlan, RecordRead } from './record-read.ts';

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
  run(call, deps) {
    if (call.request.header('accept')?.includes(eventStream))
      return deps.live(call.request, () => askedConditions(call.request, call.body));
    return continueWith(call.open(), (space) => answerFind(call, deps, space));
  },
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
  run(call, deps) {
    return continueWith(call.open(), (space) => answerFindOne(call, deps, space));
  },
  summary: 'Find one record',
  description: 'The first record that matches, or `null`.',
  ...foundRecords,
  answer: ({ foundOrNull }) => foundOrNull,
};

function answerFind(
  call: OperationCall,
  deps: OperationDeps,
  space: RecordSpace,
): HttpResponse | Promise<HttpResponse> {
  const conditions = askedConditions(call.request, call.body);
  return continueWith(conditions, (asked) => new Find(call, deps, space, { name: 'find', asked }).answer());
}

function answerFindOne(
  call: OperationCall,
  deps: OperationDeps,
  space: RecordSpace,
): HttpResponse | Promise<HttpResponse> {
  const conditions = askedConditions(call.request, call.body);
  return continueWith(conditions, (asked) =>
    new FindOne(call, deps, space, { name: 'findOne', asked }).answer(),
  );
}

class Find extends ListRead {
  protected plan(): ListPlan {
    const { request, timing } = this.call;
    const { options, conditions } = parseAsked(this.asked, request, this.space.structure);
    const { sort, page, select, count } = options;
    const populate = preparePopulate(this.deps, request, this.space, select);
    const next = nextPage(options, this.space.structure);
    const read = { sort, page, select: next === null ? select : next.select, conditions, tell: timing?.tell };
    return { conditions, populate, counted: count ? read : null, read, next };
  }
}

class FindOne extends RecordRead {
  protected plan(): RecordPlan {
    const { request, timing } = this.call;
    const { options, conditions } = parseAsked(this.asked, request, this.space.structure);
    const { sort, page, select, count } = options;
    const populate = preparePopulate(this.deps, request, this.space, select);
    const read = { sort, page, select, conditions, tell: timing?.tell };
    return { conditions, populate, counted: count ? read : null, read };
  }
}
