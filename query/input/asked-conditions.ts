import type { HttpRequest } from '../../common/http/http-types.ts';
import type { Structure } from '../structure/structure.ts';
import { bothControls, type Controls, splitBody, splitQuery } from './controls.ts';
import type { Given } from './filters/given-filter.ts';
import { givenInBody } from './filters/given-in-body.ts';
import { givenInQuery } from './filters/given-in-query.ts';
import { requireQueryType } from './query-media-type.ts';

/** Conditions as a request gives them, and a text that only equal ones have. */
export interface AskedConditions {
  /** Throws a 400 for invalid conditions. */
  read(structure: Structure): Asked;
  readonly key: string;
}

interface Asked {
  readonly given: readonly Given[];
  readonly controls: Controls | null;
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
      read(structure) {
        return askedInQuery(request.query, structure);
      },
      key: `query ${rawQuery}`,
    };
  if (method === 'QUERY') requireQueryType(request);
  return body().then((parsed) => ({
    read(structure) {
      const ofQuery = askedInQuery(request.query, structure);
      const { conditions, controls } = splitBody(parsed, structure);
      return {
        given: [...ofQuery.given, ...givenInBody(conditions, structure)],
        controls: bothControls(ofQuery.controls, controls),
      };
    },
    key: `body ${rawQuery} ${JSON.stringify(parsed)}`,
  }));
}

function askedInQuery(query: HttpRequest['query'], structure: Structure): Asked {
  const { conditions, controls } = splitQuery(query, structure);
  return { given: givenInQuery(conditions, structure), controls };
}
