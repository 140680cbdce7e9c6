import { bothControls, type Controls, splitBody, splitQuery } from '#records/input/controls.ts';
import type { GivenFilter } from '#records/input/filters/given-filter.ts';
import { allRecords, type Conditions, parseConditions } from '#records/input/parse-conditions.ts';
import { noOptions, type Options, parseOptions } from '#records/input/parse-options.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { givenInBody } from './given-in-body.ts';
import { givenInQuery } from './given-in-query.ts';
import { PartReader } from './part-reader.ts';
import { requireQueryType } from './query-media-type.ts';

/** The conditions of a read as they came. */
export interface AskedConditions {
  /** The parsed JSON of the body; undefined: all of them are in the query. */
  readonly body: unknown;
  /** A text that only equal ones have. */
  readonly key: string;
}

export interface Asked {
  readonly given: readonly GivenFilter[];
  readonly controls: Controls;
}

/**
 * The conditions of a read: in the query of a GET, and for those too long for an address in the body of QUERY (RFC 10008)
 * or POST, as JSON.
 * @param body called only where there should be one
 */
export function askedConditions(
  request: HttpRequest,
  body: () => Promise<unknown>,
): AskedConditions | Promise<AskedConditions> {
  const { method, rawQuery } = request;
  if (method === 'GET' || method === 'HEAD') return { body: undefined, key: `query ${rawQuery}` };
  if (method === 'QUERY') requireQueryType(request);
  return body().then((parsed) => ({ body: parsed, key: `body ${rawQuery} ${JSON.stringify(parsed)}` }));
}

interface Parsed {
  readonly options: Options;
  readonly conditions: Conditions;
}

/** Conditions, and the options that the header and controls say. Throws a 400 that lists the problems of both. */
export function parseAsked(
  { body }: AskedConditions,
  request: HttpRequest,
  structure: Structure,
  query = request.query,
): Parsed {
  const inQuery = askedInQuery(query, structure);
  const asked = body === undefined ? inQuery : withBody(inQuery, body, structure);
  try {
    const options = parseOptions(request.header('options'), structure, asked.controls);
    return { options, conditions: parseConditions(asked.given, structure, options.paramRelationship) };
  } catch (error) {
    // only a refused condition is read part by part, which takes two microseconds more
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

function withBody(inQuery: Asked, body: unknown, structure: Structure): Asked {
  const { conditions, controls } = splitBody(body, structure);
  return {
    given: [...inQuery.given, ...givenInBody(conditions, structure)],
    controls: bothControls(inQuery.controls, controls),
  };
}
