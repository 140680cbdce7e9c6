import type { HttpResponse } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/promises/continue-with.ts';
import { askedConditions } from '../input/asked-conditions.ts';
import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { CachedCall, Reading } from './cached-answer.ts';
import type { OperationCall, OperationDeps } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * Opens the space whose records find and findOne ask for, and answers them.
 * @param operation is kept apart from the other ones that are asked the same
 * @param read how the plan of a request is read
 */
export function answerAsked<Result>(
  {
    operation,
    call,
    deps,
  }: { readonly operation: string; readonly call: OperationCall; readonly deps: OperationDeps },
  cached: (call: CachedCall, prepare: () => Reading<Result>) => HttpResponse | Promise<HttpResponse>,
  read: (space: RecordSpace, plan: ReadPlan) => Pick<Reading<Result>, 'now' | 'read'>,
): HttpResponse | Promise<HttpResponse> {
  const { request, open, body } = call;
  return continueWith(open(), (space) =>
    continueWith(askedConditions(request, body), ({ given, key }) =>
      cached({ cache: deps.store.results, space, request, asked: `${operation} ${key}` }, () => {
        const { structure } = space;
        const { paramRelationship, sort, page } = parseOptions(request.header('options'), structure);
        const conditions = parseConditions(given(structure), structure, paramRelationship);
        const populate = preparePopulate(deps, request, space);
        return { conditions, populate, ...read(space, { sort, page, conditions }) };
      }),
    ),
  );
}
