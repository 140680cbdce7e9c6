import { invalidBody, invalidOptions, invalidValue, noConditions } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { isIncrement } from '../structure/increment.ts';
import { isObject } from '../structure/is-object.ts';
import type { Structure } from '../structure/structure.ts';
import { givenInBody } from './filters/given-in-body.ts';
import { givenInQuery } from './filters/given-in-query.ts';
import { type Conditions, parseConditions } from './parse-conditions.ts';
import { parseOptions } from './parse-options.ts';
import { type Changes, validateChanges } from './validate-changes.ts';

/** The keys of a body about many records. Throws a 400 for others, so that nothing that was meant is left out. */
export function manyKeys(body: unknown, keys: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isObject(body) || Object.keys(body).some((key) => !keys.includes(key)))
    throw invalidBody(`Request body should be a JSON object with no other keys than ${keys.join(', ')}`);
  return body;
}

/** The records to change. All of them only if that is said: `{"id": {"exists": true}}`. Throws a 400. */
export function parseWhere(where: unknown, request: HttpRequest, structure: Structure): Conditions {
  const conditions = parseAllWhere(where, request, structure);
  const { plain, others, hashed } = conditions;
  if (plain.length + others.length + hashed.length === 0) throw noConditions();
  return conditions;
}

/** Conditions in the address and in `where` of a body, where all records that match are meant. Throws a 400. */
export function parseAllWhere(
  where: unknown,
  request: Pick<HttpRequest, 'query' | 'header'>,
  structure: Structure,
): Conditions {
  const { paramRelationship, page, sort } = parseOptions(request.header('options'), structure);
  if (page !== null || sort !== null)
    throw invalidOptions(['Options: pagination and sort do not apply: all records that match are meant']);
  const inBody = where === undefined ? [] : givenInBody(where, structure);
  return parseConditions(
    [...givenInQuery(request.query, structure), ...inBody],
    structure,
    paramRelationship,
  );
}

/** Changes of many records: values of `set`, and increments of `inc`. Throws a 400. */
export function parseManyChanges(set: unknown = {}, inc: unknown = {}, structure: Structure): Changes {
  if (!isObject(set) || !isObject(inc)) throw invalidBody('set and inc should be JSON objects');
  const increments = Object.entries(inc).map(([name, by]) => [name, { $inc: by }] as const);
  const added = increments.length === 0 ? null : validateChanges(Object.fromEntries(increments), structure);
  const isEmpty = Object.keys(set).length === 0;
  const changes = new Map(isEmpty && added !== null ? added : validateChanges(set, structure));
  const problems = [...changes].flatMap(([{ name, unique }, value]) =>
    unique && value !== null
      ? [`Body field: ${shownName(name)} is unique, and many records can not have one value`]
      : [],
  );
  for (const [field, value] of added ?? []) {
    const name = shownName(field.name);
    if (!isIncrement(value)) problems.push(`Body field: ${name} is no number and can not be incremented`);
    else if (!isEmpty && changes.has(field)) problems.push(`Body field: ${name} is both in set and in inc`);
    changes.set(field, value);
  }
  if (problems.length > 0) throw invalidValue(problems);
  return changes;
}
