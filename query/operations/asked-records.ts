import type { HttpRequest, HttpResponse } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/promises/continue-with.ts';
import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { type AskedPairs, readQueryPairs } from '../input/query-pairs.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { OperationCall } from './operation.ts';

/** Opens the space whose records find and findOne ask for, and reads the conditions as they were given. */
export function openAsked(
  { request, open, body }: OperationCall,
  answer: (space: RecordSpace, asked: AskedPairs) => HttpResponse | Promise<HttpResponse>,
): HttpResponse | Promise<HttpResponse> {
  return continueWith(open(), (space) =>
    continueWith(readQueryPairs(request, body), (asked) => answer(space, asked)),
  );
}

/** What they ask for. Throws a 400 for what is wrong with it. */
export function parseAsked(request: HttpRequest, { structure }: RecordSpace, asked: AskedPairs): ReadPlan {
  const { paramRelationship, sort, page } = parseOptions(request.header('options'), structure);
  return { sort, page, conditions: parseConditions(asked.pairs(), structure, paramRelationship) };
}
