import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidBody, invalidCondition } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { longestName } from '#kernel/ids/slug.ts';
import {
  type AggregatePlan,
  aggregateLimits,
  type Group,
  typeOfValue,
  type Value,
} from '#records/input/aggregate/aggregate-plan.ts';
import { type AggregateFunction, functions, functionsFor } from '#records/input/aggregate/functions.ts';
import { readEvery } from '#records/input/aggregate/time-bucket.ts';
import { kindOfValue } from '#records/input/filters/filter.ts';
import type { GivenFilter } from '#records/input/filters/given-filter.ts';
import { nameOfSubject, type Subject, targetOf } from '#records/input/filters/names.ts';
import { isFor } from '#records/input/filters/operators.ts';
import { allRecords, type Conditions, parseConditions } from '#records/input/parse-conditions.ts';
import { SubjectReader } from '#records/input/subject-reader.ts';
import type { Field } from '#records/structure/field.ts';
import type { Structure } from '#records/structure/structure.ts';
import { typeCan, typesThat } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import { TimeZone } from '#records/types/time-zone.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { readWhere } from './many-records.ts';
import { PartReader } from './part-reader.ts';
import { readBodyConditions } from './read-body-conditions.ts';

const parts = ['where', 'groupBy', 'values', 'having', 'sort', 'limit'];
const bucketParts = ['as', 'bucket', 'every', 'timeZone', 'fill'];

/**
 * Reads the body of an aggregation, and the conditions in its address. Throws a 400 that lists every problem.
 */
export function parseAggregate(
  body: unknown,
  request: Pick<HttpRequest, 'query' | 'header'>,
  structure: Structure,
): AggregatePlan {
  if (!isObject(body)) throw invalidBody('Request body should be a JSON object with groupBy, values or both');
  return new AggregateReader(structure).read(body, request);
}

class AggregateReader {
  readonly #structure: Structure;
  readonly #problems: string[] = [];
  readonly #names = new Set<string>();
  readonly #subjects: SubjectReader;

  constructor(structure: Structure) {
    this.#structure = structure;
    this.#subjects = new SubjectReader(structure, this.#problems);
  }

  read(
    body: Readonly<Record<string, unknown>>,
    request: Pick<HttpRequest, 'query' | 'header'>,
  ): AggregatePlan {
    this.#checkParts('The body', body, parts);
    const requestParts = new PartReader();
    const where = readWhere(requestParts, body.where ?? {}, request, this.#structure, { all: true });
    const groups = this.#groups(body.groupBy ?? []);
    const values = this.#values(body.values ?? {});
    if (groups.length + values.length === 0 && this.#problems.length === 0)
      this.#problems.push('An aggregation needs groupBy, values or both');
    const having = this.#having(body.having ?? {}, values);
    const sort = this.#sort(
      body.sort ?? [],
      new Map([...groups, ...values].map((one) => [one.name, one.column])),
    );
    const plan = { where, groups, values, having, sort, limit: this.#limit(body.limit) };
    requestParts.read(() => {
      if (this.#problems.length > 0) throw invalidCondition(this.#problems);
    }, undefined);
    requestParts.check();
    return plan;
  }

  #checkParts(what: string, given: object, known: readonly string[]): void {
    for (const key of Object.keys(given))
      if (!known.includes(key))
        this.#problems.push(`${what} has no part ${shownName(key)}, only ${known.join(', ')}`);
  }

  #conditions(read: () => Conditions): Conditions {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#problems.push(...error.problems);
      return allRecords;
    }
  }

  #groups(given: unknown): readonly Group[] {
    const list = this.#list('groupBy', given, aggregateLimits.groups);
    return list.flatMap((one, index) => {
      const column = `_g${index}`;
      if (typeof one === 'string') {
        const subject = this.#subject(one);
        return this.#isNewName(one) && subject !== null
          ? [{ ...subject, name: one, column, fill: false }]
          : [];
      }
      if (isObject(one)) return this.#bucket(one, column);
      this.#problems.push('groupBy should list names of fields, and objects with bucket and every');
      return [];
    });
  }

  #bucket(given: Readonly<Record<string, unknown>>, column: string): readonly Group[] {
    const problems = this.#problems.length;
    this.#checkParts('An object of groupBy', given, bucketParts);
    const { bucket: of, as = of, every, timeZone = 'UTC', fill = false } = given;
    const target = typeof of === 'string' ? targetOf(of, this.#structure) : null;
    const isField = typeof target === 'object' && target !== null;
    if (!(target === 'createdAt' || target === 'updatedAt' || (isField && isBucketed(target))))
      this.#problems.push(
        `groupBy: bucket should be createdAt, updatedAt, or a field of type ${typesThat('bucketed').join(' or ')}`,
      );
    const hasDays = isField && isBucketed(target) && !typeCan(target.type, 'zoned');
    if (hasDays && given.timeZone !== undefined)
      this.#problems.push(`groupBy: ${shownName(target.name)} has no time zone: leave out timeZone`);
    const zone = typeof timeZone === 'string' ? TimeZone.named(timeZone) : null;
    if (zone === null)
      this.#problems.push('groupBy: timeZone should be the name of a time zone, such as Europe/Paris');
    const bucket = readEvery(every, hasDays ? null : (zone ?? TimeZone.utc));
    if (typeof bucket === 'string') this.#problems.push(`groupBy: every ${bucket}`);
    if (typeof fill !== 'boolean') this.#problems.push('groupBy: fill should be true or false');
    if (typeof as === 'string') this.#isNewName(as);
    else if (as !== of) this.#problems.push('groupBy: as should be a name');
    if (this.#problems.length > problems) return [];
    return [{ target, path: [], name: as, column, bucket, fill } as Group];
  }

  #values(given: unknown): readonly Value[] {
    if (!isObject(given)) {
      this.#problems.push('values should be an object of names and functions');
      return [];
    }
    const entries = Object.entries(given);
    if (entries.length > aggregateLimits.values) {
      this.#problems.push(
        `values has ${entries.length} functions; at most ${aggregateLimits.values} are allowed`,
      );
      return [];
    }
    return entries.flatMap(([name, value], index) => {
      const of = this.#function(name, value);
      return this.#isNewName(name) && of !== undefined ? [{ name, column: `_v${index}`, of }] : [];
    });
  }

  /** Undefined: there is a problem. */
  #function(as: string, given: unknown): Value['of'] | undefined {
    if (given === 'count') return null;
    const [entry, ...more] = isObject(given) ? Object.entries(given) : [];
    const [name = '', operand] = entry ?? [];
    if (more.length > 0 || !Object.hasOwn(functions, name)) {
      const known = Object.keys(functions).join(', ');
      this.#problems.push(`values: ${shownName(as)} should be "count", or an object with one of ${known}`);
      return undefined;
    }
    const isQuantile = name === 'quantile';
    const [field, level, ...rest] =
      isQuantile && Array.isArray(operand) ? (operand as unknown[]) : [operand, 0];
    const isLevel = typeof level === 'number' && level >= 0 && level <= 1 && rest.length === 0;
    if (typeof field !== 'string' || !isLevel) {
      const wanted = isQuantile ? 'a list of a field and a number from 0 to 1' : 'the name of a field';
      this.#problems.push(`values: ${shownName(as)}: ${name} should be of ${wanted}`);
      return undefined;
    }
    const subject = this.#subject(field);
    if (subject === null) return undefined;
    const kind = kindOfValue(subject);
    if (isFor(kind, functions[name] as AggregateFunction)) return { ...subject, name, level };
    const known = functionsFor(kind).join(', ');
    this.#problems.push(
      `Query field: ${shownName(nameOfSubject(subject))} has no function ${name}; ${kind.words} has ${known}`,
    );
    return undefined;
  }

  #having(given: unknown, values: readonly Value[]): Conditions {
    const structure = comparedValues(values, this.#structure);
    return this.#conditions(() =>
      parseConditions(checkNames(readBodyConditions(given, structure), structure), structure, 'And'),
    );
  }

  #sort(given: unknown, columns: ReadonlyMap<string, string>): AggregatePlan['sort'] {
    return this.#list('sort', given, aggregateLimits.sorts).flatMap((one) => {
      const { by, order = 'asc', ...more } = isObject(one) ? one : {};
      const column = typeof by === 'string' ? columns.get(by) : undefined;
      const isOrder = (order === 'asc' || order === 'desc') && Object.keys(more).length === 0;
      if (column !== undefined && isOrder) return [{ column, descending: order === 'desc' }];
      // a known name without a column has its own problem already
      if (!isOrder || typeof by !== 'string')
        this.#problems.push('sort should list objects with by, and order asc or desc');
      else if (!this.#names.has(by))
        this.#problems.push(`sort: ${shownName(by)} is not a name in groupBy or values`);
      return [];
    });
  }

  #limit(given: unknown): number {
    if (given === undefined || given === null) return aggregateLimits.usualRows;
    const isLimit =
      Number.isSafeInteger(given) && (given as number) >= 1 && (given as number) <= aggregateLimits.rows;
    if (!isLimit) this.#problems.push(`limit should be a whole number from 1 to ${aggregateLimits.rows}`);
    return given as number;
  }

  #list(part: string, given: unknown, most: number): readonly unknown[] {
    if (Array.isArray(given) && given.length <= most) return given;
    this.#problems.push(`${part} should be an array of at most ${most}`);
    return [];
  }

  #subject(name: string): Subject | null {
    const found = this.#subjects.read(name);
    if (found === null || typeof found.target === 'string' || !found.target.hashed) return found;
    this.#problems.push(
      `Query field: ${shownName(found.target.name)} is hashed and can be neither grouped nor computed with`,
    );
    return null;
  }

  /** Keys of the answer must be unique. */
  #isNewName(name: string): boolean {
    const isNew = !this.#names.has(name) && name.length <= longestName;
    if (!isNew) {
      const problem =
        name.length > longestName ? `is longer than ${longestName} characters` : 'is there twice';
      this.#problems.push(`The name ${shownName(name)} in groupBy or values ${problem}`);
    }
    this.#names.add(name);
    return isNew;
  }
}

function isBucketed({ type, hashed }: Field): boolean {
  return typeCan(type, 'bucketed') && !hashed;
}

/** The values of an aggregation as fields, so that conditions can compare them; the times of records can't be compared. */
function comparedValues(values: readonly Value[], structure: Structure): Structure {
  const fields = values.flatMap((value): Field[] => {
    const { name, column: slot } = value;
    const type = typeOfValue(value);
    if (type === null) return [];
    return [
      {
        name,
        slug: name,
        slot,
        ...type,
        required: false,
        unique: false,
        hashed: false,
        keyed: false,
        description: '',
        comment: '',
        defaultValue: null,
      },
    ];
  });
  return { ...structure, fields, lookup: new Map(fields.map((field) => [field.name, field])) };
}

/** Turns conditions on anything but these values into problems. */
function checkNames(given: readonly GivenFilter[], { fields, lookup }: Structure): readonly GivenFilter[] {
  const known = fields.map(({ name }) => shownName(name)).join(', ') || 'none';
  const checked = (one: GivenFilter): GivenFilter => {
    if ('group' in one) return { ...one, branches: one.branches.map((items) => items.map(checked)) };
    if ('problem' in one || lookup.has(one.name)) return one;
    return {
      problem: `having: ${shownName(one.name)} is not among the values that are numbers or texts: ${known}`,
    };
  };
  return given.map(checked);
}
