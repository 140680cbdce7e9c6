import type { HttpResponse } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/limits/continue-with.ts';
import { askedConditions, parseAsked } from '../input/asked-conditions.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { CachedCall, Reading } from './cached-answer.ts';
import { queryableJson } from './json-answer.ts';
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
  const { request, timing, open, body } = call;
  return continueWith(open(), (space) =>
    continueWith(askedConditions(request, body), ({ read: readAsked, key }) =>
      cached(
        // no spreads: they cost a fifth of a kept answer
        {
          cache: deps.store.results,
          space,
          request,
          timing,
          asked: `${operation} ${key}`,
          headers: queryableJson,
        },
        () => {
          const { structure } = space;
          const { options, conditions } = parseAsked(readAsked(structure), request, structure);
          const { sort, page, select, count } = options;
          const populate = preparePopulate(deps, request, space, select);
          const plan = { sort, page, select, conditions };
          const total = count ? () => deps.reader.total(space, plan, request.signal) : null;
          return { conditions, populate, total, ...read(space, plan) };
        },
      ),
    ),
  );
}
