import type { HttpRequest, HttpResponse } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/promises/continue-with.ts';
import { parseOptions } from '../input/parse-options.ts';
import { parseSearch } from '../input/parse-search.ts';
import { containsSql } from '../sql/contains-sql.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { cachedList } from './cached-answer.ts';
import type { OperationDeps, RunOperation } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * GET /{project}/{space}/search: a JSON array of the records in which any of the named TEXT fields contains the text,
 * which is taken literally, letter case ignored. The empty text is contained in every value.
 */
export const search: RunOperation = ({ request, open }, deps) =>
  continueWith(open(), (space) => answer(request, space, deps));

function answer(
  request: HttpRequest,
  space: RecordSpace,
  deps: OperationDeps,
): HttpResponse | Promise<HttpResponse> {
  const { reader, cache } = deps;
  return cachedList({ cache, space, request, asked: `search ${request.rawQuery}` }, () => {
    const { sort, page } = parseOptions(request.header('options'), space.structure);
    const { text, fields } = parseSearch(request.query, space.structure);
    const populate = preparePopulate(deps, request, space);
    // of a field without a value it is NULL, which WHERE takes as false
    const where = `(${fields.map((field) => containsSql(field, text)).join(' OR ')})`;
    const read = () => reader.streamWhere(space, where, { sort, page }, request.signal);
    return { conditions: null, populate, now: () => null, read };
  });
}
