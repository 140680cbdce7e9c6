import type { HttpRequest, HttpResponse } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/promises/continue-with.ts';
import { type Conditions, parseConditions } from '../input/parse-conditions.ts';
import { type Options, parseOptions } from '../input/parse-options.ts';
import { type AskedPairs, readQueryPairs } from '../input/query-pairs.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { OperationCall, OperationDeps } from './operation.ts';
import { type Populate, preparePopulate } from './populate.ts';

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
export async function parseAsked(
  deps: OperationDeps,
  request: HttpRequest,
  space: RecordSpace,
  asked: AskedPairs,
): Promise<{
  readonly options: Options;
  readonly conditions: Conditions;
  readonly populate: Populate | null;
}> {
  const options = parseOptions(request.header('options'), space.structure);
  const conditions = parseConditions(asked.pairs(), space.structure, options.paramRelationship);
  const populate = request.header('options') ? await preparePopulate(deps, request, space) : null;
  return { options, conditions, populate };
}
