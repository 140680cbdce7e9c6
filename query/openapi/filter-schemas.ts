import { arrayOf, count, dateTime, exactObject, named, type Schema, string } from '#kernel/json/schema.ts';
import { kindOfValue } from '#records/input/filters/filter.ts';
import { type OperatorName, operatorOf, operatorsFor } from '#records/input/filters/operators.ts';
import { type Field, systemKeys, type Target } from '#records/structure/field.ts';
import { typeCan, typeEntry } from '#records/types/field-types.ts';
import {
  type ApiHeader,
  type ApiParameter,
  headerParameter,
  queryParameter,
} from '#server/openapi/api-operation.ts';
import { acceptQuery } from '../input/query-media-type.ts';

/** With more fields, a document lists only equality: operators would add thousands of parameters. */
const mostFields = 100;

function valueSchema(target: Target): Schema {
  if (typeof target !== 'string') return typeEntry(target.type).schema;
  return target === 'id' ? string : dateTime;
}

/** The operand of an operator in a body. @param element of an array */
function operandSchema(target: Target, operator: OperatorName, element: Schema): Schema {
  switch (operatorOf(operator).operand) {
    case 'value':
      return valueSchema(target);
    case 'values':
      return arrayOf(valueSchema(target));
    case 'element':
      return element;
    case 'elements':
      return arrayOf(element);
    case 'length':
      return count;
    case 'boolean':
      return { type: 'boolean' };
  }
}

function operatorsOf(target: Target): readonly OperatorName[] {
  if (typeof target !== 'string' && target.hashed) return [];
  return operatorsFor(kindOfValue({ target, path: [] }));
}

/** Parameters such as `year[gte]`, by the type of each field. Equality needs no operator. */
export function filterParameters(targets: readonly Target[]): readonly ApiParameter[] {
  if (targets.length - systemKeys.length > mostFields) return [];
  return targets.flatMap((target) =>
    operatorsOf(target)
      .filter((operator) => operator !== 'eq')
      .map((operator) => filterParameter(target, operator)),
  );
}

function filterParameter(target: Target, operator: OperatorName): ApiParameter {
  const of = typeof target === 'string' ? target : target.slug;
  const name = `${of}[${operator}]`;
  const description = `A condition on ${of}`;
  const schema = operandSchema(target, operator, string);
  const { operand } = operatorOf(operator);
  const ofJson = typeof target !== 'string' && typeEntry(target.type).isJson;
  if (ofJson && operand === 'value') return { name, in: 'query', description, json: schema };
  // a list repeats the parameter: each of its values is the JSON of an array
  return queryParameter(name, description, ofJson && operand === 'values' ? arrayOf(string) : schema);
}

/** A value, or an object of operators, in a body of conditions. For an OBJECT field, an object is a value. */
function conditionSchema(target: Target): Schema {
  const value = valueSchema(target);
  const operators = operatorsOf(target);
  if (operators.length === 0 || (typeof target !== 'string' && typeCan(target.type, 'paths'))) return value;
  const properties = Object.fromEntries(
    operators.map((operator) => [operator, operandSchema(target, operator, {})]),
  );
  const kind = kindOfValue({ target, path: [] });
  const schema = exactObject(properties, { optional: operators, minProperties: 1 });
  return { anyOf: [value, named(`${kind.title}Operators`, schema)] };
}

/** @param branch conditions, which may have nested groups */
function groupsOf(branch: Schema): Readonly<Record<string, Schema>> {
  const branches = { ...arrayOf(branch), minItems: 1 };
  return {
    $or: { ...branches, description: 'Any of the branches' },
    $and: { ...branches, description: 'All of the branches' },
    $not: { ...branches, description: 'None of the branches' },
  };
}

const whole: Schema = { type: 'integer', minimum: 1 };
const exact: Schema = { type: 'string', enum: ['exact'] };
const controls = {
  $sort: 'Fields to sort by, separated by commas; a minus sorts in descending order',
  $select: 'The fields of the answer, separated by commas; `id` is always included',
  $limit: 'Records per page',
  $page: 'The page, from 1',
  $after:
    'The last record of the previous page, in place of `$page`: its id, or with a sort `{"id", "value"}` as JSON',
  $count: 'Adds the header `Sluice-Total-Count`',
};

/** Controls: the same options as in the `options` header, as parameters. */
export const controlParameters: readonly ApiParameter[] = Object.entries(controls).map(
  ([name, description]) =>
    queryParameter(
      name,
      description,
      name === '$count' ? exact : name === '$limit' || name === '$page' ? whole : string,
    ),
);

/** The controls that decide which record is the first. */
export const orderParameters = controlParameters.filter(
  ({ name }) => name !== '$select' && name !== '$count',
);

const names: Schema = { anyOf: [string, arrayOf(string)] };
/** The same controls in a body of conditions. */
export const controlProperties: Readonly<Record<keyof typeof controls, Schema>> = {
  $sort: { anyOf: [string, { type: 'array', items: {} }], description: controls.$sort },
  $select: { ...names, description: controls.$select },
  $limit: { ...whole, description: controls.$limit },
  $page: { ...whole, description: controls.$page },
  $after: { anyOf: [string, { type: 'object', additionalProperties: true }], description: controls.$after },
  $count: { ...exact, description: controls.$count },
};

/** A union of an object and lists compiles in few languages, so that schemas leave the lists out. */
export const listForm = 'The server takes lists of `[field, value]` and `[field, operator, value]` as well';

/** A body of conditions on the fields of a space. */
export function conditionsObject(
  targets: readonly Target[],
  describe: (field: Field) => Schema,
  more: Readonly<Record<string, Schema>> = {},
): Schema {
  const fields = targets.map((target): [string, Schema] =>
    typeof target === 'string'
      ? [target, conditionSchema(target)]
      : [target.name, { ...conditionSchema(target), ...describe(target) }],
  );
  // a path within an OBJECT is a key as well
  const additionalProperties = targets.some(
    (target) => typeof target !== 'string' && typeCan(target.type, 'paths'),
  );
  const branch: Schema = {};
  const properties = { ...groupsOf(named('Conditions', branch)), ...Object.fromEntries(fields) };
  const object = (all: Readonly<Record<string, Schema>>): Schema =>
    exactObject(all, { optional: Object.keys(all), additionalProperties });
  // the schema refers to itself
  Object.assign(branch, object(properties), { minProperties: 1 });
  return { ...object({ ...more, ...properties }), description: listForm };
}

/** Requests `Server-Timing`. */
export const timingParameter = headerParameter('sluice-timing', '`true` adds the header `Server-Timing`');

/** Header of answers that can be timed. */
export const timingHeader: Readonly<Record<string, ApiHeader>> = {
  'Server-Timing': {
    description:
      'With `Sluice-Timing: true`: milliseconds for reading the request, for memory and for the engine, and whether the records came from `memory`, the `index` or a `scan` of the space',
    schema: string,
  },
};

/** For operations that also take QUERY. */
export const queryableHeader: Readonly<Record<string, ApiHeader>> = {
  'Accept-Query': {
    description: 'Media types of the body of QUERY (RFC 10008)',
    always: true,
    schema: { type: 'string', enum: [acceptQuery['accept-query']] },
  },
};

/** Headers of answers with pages. */
export const pageHeaders: Readonly<Record<string, ApiHeader>> = {
  Link: { description: 'With `$limit`: the next page, `rel="next"` (RFC 8288)', schema: string },
  'Sluice-Next-After': {
    description: 'With a limit in the body or the `options` header: the `$after` of the next page',
    schema: string,
  },
};

/** Headers of answers with groups. */
export const groupHeaders: Readonly<Record<string, ApiHeader>> = {
  'Sluice-More-Groups': {
    description: '`true`: there are more groups than the limit',
    schema: { type: 'string', enum: ['true'] },
  },
};

/** Headers of answers with records. */
export const foundHeaders: Readonly<Record<string, ApiHeader>> = {
  'Sluice-Total-Count': {
    description: 'With `$count=exact`: the number of records on all pages',
    schema: string,
  },
};
