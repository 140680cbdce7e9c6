import { invalidBody } from '../../common/errors/catalogue.ts';
import type { HttpRequest, QueryPairs } from '../../common/http/http-types.ts';

/** Conditions as a request gives them, and a text that only equal ones have. */
export interface AskedPairs {
  /** Throws a 400 for a query that can't be read. */
  pairs(): QueryPairs;
  readonly key: string;
}

/**
 * The conditions of a read: in the query of a GET, and for those too long for an address in the body of QUERY (RFC 10008)
 * or POST, as a JSON object of fields and values, or as an array of such pairs, in which a field may come again.
 * @param body the parsed JSON of the body; called only where there should be one
 */
export function readQueryPairs(
  request: HttpRequest,
  body: () => Promise<unknown>,
): AskedPairs | Promise<AskedPairs> {
  if (request.method === 'GET' || request.method === 'HEAD') {
    return {
      pairs() {
        return request.query;
      },
      key: `query ${request.rawQuery}`,
    };
  }
  return body().then((parsed) => {
    const pairs = [...request.query, ...pairsOf(parsed)];
    return { pairs: () => pairs, key: `body ${JSON.stringify(pairs)}` };
  });
}

function pairsOf(input: unknown): QueryPairs {
  if (typeof input !== 'object' || input === null) throw refusal();
  const entries: readonly unknown[] = Array.isArray(input) ? input : Object.entries(input);
  return entries.map((entry) => {
    if (!Array.isArray(entry) || entry.length !== 2) throw refusal();
    const [name, value] = entry as [unknown, unknown];
    if (typeof name !== 'string') throw refusal();
    // as a query would have it: text as it is, all else as JSON
    return [name, typeof value === 'string' ? value : JSON.stringify(value)];
  });
}

function refusal(): Error {
  return invalidBody(
    'Request body should be a JSON object of conditions, or an array of [field, value] pairs',
  );
}
