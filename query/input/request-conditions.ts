import { bothControls, type Controls, splitBody, splitQuery } from '#records/input/controls.ts';
import type { GivenFilter } from '#records/input/filters/given-filter.ts';
import { allRecords, type Conditions, parseConditions } from '#records/input/parse-conditions.ts';
import { noOptions, type Options, parseOptions } from '#records/input/parse-options.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { PartReader } from './part-reader.ts';
import { requireQueryType } from './query-media-type.ts';
import { readBodyConditions } from './read-body-conditions.ts';
import { readQueryConditions } from './read-query-conditions.ts';

/** The conditions of a read, not yet parsed. */
export interface RequestConditions {
  /** The parsed JSON of the body; undefined: all conditions are in the query. */
  readonly body: unknown;
  /** Equal only for equal conditions. */
  readonly key: string;
}

/** Conditions whose values don't have the types of their fields yet, and controls such as `$limit`. */
export interface ConditionInput {
  readonly conditions: readonly GivenFilter[];
  readonly controls: Controls;
}

/**
 * Reads the conditions from the query of a GET. Conditions that are too long for an address come as JSON in the body of
 * QUERY (RFC 10008) or POST.
 * @param body called only if the method has a body
 */
export function readRequestConditions(
  request: HttpRequest,
  body: () => Promise<unknown>,
): RequestConditions | Promise<RequestConditions> {
  const { method, rawQuery } = request;
  if (method === 'GET' || method === 'HEAD') return { body: undefined, key: `query ${rawQuery}` };
  if (method === 'QUERY') requireQueryType(request);
  return body().then((parsed) => ({ body: parsed, key: `body ${rawQuery} ${JSON.stringify(parsed)}` }));
}

interface ParsedConditions {
  readonly options: Options;
  readonly conditions: Conditions;
}

/** Parses the conditions, and the options of the header and the controls. Throws a 400 that lists the problems of both. */
export function parseRequestConditions(
  { body }: RequestConditions,
  request: HttpRequest,
  structure: Structure,
  query = request.query,
): ParsedConditions {
  const inQuery = readQueryInput(query, structure);
  const input = body === undefined ? inQuery : withBody(inQuery, body, structure);
  try {
    const options = parseOptions(request.header('options'), structure, input.controls);
    return { options, conditions: parseConditions(input.conditions, structure, options.paramRelationship) };
  } catch (error) {
    // part by part only after a refusal: it takes two microseconds more
    const parts = new PartReader();
    parseConditionParts(parts, input, request, structure);
    parts.check();
    throw error;
  }
}

/** The same for a request with more parts. */
export function parseConditionParts(
  parts: PartReader,
  { conditions: input, controls }: ConditionInput,
  request: HttpRequest,
  structure: Structure,
): ParsedConditions {
  const options = parts.read(() => parseOptions(request.header('options'), structure, controls), noOptions);
  const conditions = parts.read(
    () => parseConditions(input, structure, options.paramRelationship),
    allRecords,
  );
  return { options, conditions };
}

export function readQueryInput(query: HttpRequest['query'], structure: Structure): ConditionInput {
  const { conditions, controls } = splitQuery(query, structure);
  return { conditions: readQueryConditions(conditions, structure), controls };
}

function withBody(inQuery: ConditionInput, body: unknown, structure: Structure): ConditionInput {
  const { conditions, controls } = splitBody(body, structure);
  return {
    conditions: [...inQuery.conditions, ...readBodyConditions(conditions, structure)],
    controls: bothControls(inQuery.controls, controls),
  };
}
