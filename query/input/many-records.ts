import { allMeant, invalidBody, invalidOptions, invalidValue } from '#kernel/errors/catalogue.ts';
import { Problems } from '#kernel/errors/problems.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { requireRecord } from '#records/input/given-fields.ts';
import { allRecords, type Conditions, parseConditions } from '#records/input/parse-conditions.ts';
import { noOptions, parseOptions } from '#records/input/parse-options.ts';
import { type Changes, readChanges } from '#records/input/validate-changes.ts';
import { isIncrement } from '#records/structure/increment.ts';
import type { Structure } from '#records/structure/structure.ts';
import { isObject } from '#records/types/is-object.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { holdForAll } from './hold-for-all.ts';
import type { PartReader } from './part-reader.ts';
import { readBodyConditions } from './read-body-conditions.ts';
import { readQueryConditions } from './read-query-conditions.ts';

/** Reads `all` of a body about many records. */
export function readAll(parts: PartReader, all: unknown): boolean {
  return parts.read(() => {
    if (all !== undefined && typeof all !== 'boolean') throw invalidBody('all should be true or false');
    return all === true;
  }, true);
}

/** Checks the keys of a body about many records. Throws a 400 for unknown keys: a misspelled one must not be ignored. */
export function manyKeys(body: unknown, keys: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isObject(body) || Object.keys(body).some((key) => !keys.includes(key)))
    throw invalidBody(`Request body should be a JSON object with no other keys than ${keys.join(', ')}`);
  return body;
}

/**
 * Reads conditions from the address and from `where` of a body.
 * @param args.all whether the conditions may match every record. Otherwise a mistake, such as an empty list, could change all
 */
export function readWhere(
  parts: PartReader,
  where: unknown,
  request: Pick<HttpRequest, 'query' | 'header'>,
  structure: Structure,
  { all }: { readonly all: boolean },
): Conditions {
  const options = parts.read(() => {
    const parsed = parseOptions(request.header('options'), structure);
    if (parsed.page === null && parsed.sort === null) return parsed;
    throw invalidOptions([
      'Options: pagination and sort do not apply: the request is about all records that match',
    ]);
  }, noOptions);
  return parts.read(() => {
    const inQuery = readQueryConditions(request.query, structure);
    const inBody = where === undefined ? [] : readBodyConditions(where, structure);
    const conditions = parseConditions([...inQuery, ...inBody], structure, options.paramRelationship);
    if (!all && holdForAll(conditions)) throw allMeant();
    return conditions;
  }, allRecords);
}

/** Reads changes of many records: values of `set`, and increments of `inc`. */
export function readManyChanges(
  parts: PartReader,
  { set = {}, inc = {} }: { readonly set?: unknown; readonly inc?: unknown },
  structure: Structure,
): Changes {
  return parts.read((): Changes => {
    if (!isObject(set) || !isObject(inc)) throw invalidBody('set and inc should be JSON objects');
    const increments = Object.entries(inc).map(([name, by]) => [name, { $inc: by }] as const);
    if (increments.length === 0) requireRecord(set);
    const problems = new Problems();
    const changes = readChanges(set, structure, problems);
    for (const [{ name, unique }, value] of changes)
      if (unique && value !== null)
        problems.add(`Body field: ${shownName(name)} is unique: several records can not have the same value`);
    for (const [field, value] of readChanges(Object.fromEntries(increments), structure, problems)) {
      const name = shownName(field.name);
      if (!isIncrement(value)) problems.add(`Body field: ${name} is not a number and can not be incremented`);
      else if (changes.has(field)) problems.add(`Body field: ${name} is both in set and in inc`);
      changes.set(field, value);
    }
    if (problems.found) throw invalidValue(problems.list());
    return changes;
  }, new Map());
}
