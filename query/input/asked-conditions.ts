import type { HttpRequest } from '../../common/http/http-types.ts';
import type { Structure } from '../structure/structure.ts';
import type { Given } from './filters/given-filter.ts';
import { givenInBody } from './filters/given-in-body.ts';
import { givenInQuery } from './filters/given-in-query.ts';

/** Conditions as a request gives them, and a text that only equal ones have. */
export interface AskedConditions {
  /** Throws a 400 for what can't be read. */
  given(structure: Structure): readonly Given[];
  readonly key: string;
}

/**
 * The conditions of a read: in the query of a GET, and for those too long for an address in the body of QUERY (RFC 10008)
 * or POST, as JSON.
 * @param body the parsed JSON of the body; called only where there should be one
 */
export function askedConditions(
  request: HttpRequest,
  body: () => Promise<unknown>,
): AskedConditions | Promise<AskedConditions> {
  const { method, rawQuery } = request;
  // methods, because tsx names an arrow function that is a property each time that it is made: 0.3 us
  if (method === 'GET' || method === 'HEAD')
    return {
      given(structure) {
        return givenInQuery(request.query, structure);
      },
      key: `query ${rawQuery}`,
    };
  return body().then((parsed) => ({
    given(structure) {
      return [...givenInQuery(request.query, structure), ...givenInBody(parsed, structure)];
    },
    key: `body ${rawQuery} ${JSON.stringify(parsed)}`,
  }));
}
