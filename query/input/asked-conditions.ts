import type { HttpRequest } from '../../common/http/http-types.ts';
import type { Structure } from '../structure/structure.ts';
import { bothControls, type Controls, splitBody, splitQuery } from './controls.ts';
import type { Given } from './filters/given-filter.ts';
import { givenInBody } from './filters/given-in-body.ts';
import { givenInQuery } from './filters/given-in-query.ts';
import { allRecords, type Conditions, parseConditions } from './parse-conditions.ts';
import { noOptions, type Options, parseOptions } from './parse-options.ts';
import { PartReader } from './part-reader.ts';
import { requireQueryType } from './query-media-type.ts';

/** Conditions as a request gives them, and a text that only equal ones have. */
export interface AskedConditions {
  /** Throws a 400 for invalid conditions. */
  read(structure: Structure): Asked;
  readonly key: string;
}

export interface Asked {
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

interface Parsed {
  readonly options: Options;
  readonly conditions: Conditions;
}

/** Conditions, and the options that the header and controls say. Throws a 400 that lists the problems of both. */
export function parseAsked(asked: Asked, request: HttpRequest, structure: Structure): Parsed {
  try {
    const options = parseOptions(request.header('options'), structure, asked.controls);
    return { options, conditions: parseConditions(asked.given, structure, options.paramRelationship) };
  } catch (error) {
    // only what is refused is read part by part, which takes two microseconds more
    const parts = new PartReader();
    askedParts(parts, asked, request, structure);
    parts.check();
    throw error;
  }
}

/** The same as parts of a request that has others. */
export function askedParts(
  parts: PartReader,
  { given, controls }: Asked,
  request: HttpRequest,
  structure: Structure,
): Parsed {
  const options = parts.read(() => parseOptions(request.header('options'), structure, controls), noOptions);
  const conditions = parts.read(
    () => parseConditions(given, structure, options.paramRelationship),
    allRecords,
  );
  return { options, conditions };
}

export function askedInQuery(query: HttpRequest['query'], structure: Structure): Asked {
  const { conditions, controls } = splitQuery(query, structure);
  return { given: givenInQuery(conditions, structure), controls };
}
