import { arrayOf } from '#kernel/json/schema.ts';
import { nextPage } from '#records/next-page.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { eventStream } from '#server/http/event-stream.ts';
import {
  parseRequestConditions,
  type RequestConditions,
  readRequestConditions,
} from '../input/request-conditions.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { controlParameters, foundHeaders, pageHeaders } from '../openapi/filter-schemas.ts';
import { type ListPlan, ListRead } from './list-read.ts';
import type { OperationCall, OperationDefinition, QueryParts } from './operation.ts';
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
      return deps.live(call.request, () => readRequestConditions(call.request, call.body));
    return new FindRead(call, deps).answer();
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
 * GET /{project}/{space}/_single_ (interface.md section 4.4). Of a page only the offset matters, not the limit.
 */
export const findOne: OperationDefinition = {
  run(call, deps) {
    return new FindOneRead(call, deps).answer();
  },
  summary: 'Find one record',
  description: 'The first record that matches, or `null`.',
  ...foundRecords,
  answer: ({ foundOrNull }) => foundOrNull,
};

class FindRead extends ListRead {
  protected readonly operation = 'find';

  protected plan(): ListPlan {
    return planOf(this.requested, this.call, this.deps, this.space, true);
  }
}

class FindOneRead extends RecordRead {
  protected readonly operation = 'findOne';

  protected plan(): RecordPlan {
    return planOf(this.requested, this.call, this.deps, this.space, false);
  }
}

/** @param paged whether the answer says where the next page begins */
function planOf(
  requested: RequestConditions,
  { request, timing }: OperationCall,
  deps: QueryParts,
  space: RecordSpace,
  paged: boolean,
): ListPlan {
  const { structure } = space;
  const { options, conditions } = parseRequestConditions(requested, request, structure);
  const { sort, page, select, count } = options;
  const populate = preparePopulate(deps, request, space, select);
  const next = paged ? nextPage(options, structure) : null;
  const read = { sort, page, select: next === null ? select : next.select, conditions, trace: timing };
  return { conditions, populate, counted: count ? read : null, read, next };
}
