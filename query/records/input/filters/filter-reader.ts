import { shownName } from '#kernel/errors/shown-name.ts';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import type { Target } from '../../structure/field.ts';
import type { Structure } from '../../structure/structure.ts';
import { canonicalJson, NotCanonicalError } from '../../types/canonical-json.ts';
import type { StoredValue, ValueReading } from '../../types/field-type.ts';
import { fieldTypes, readFieldValue, type TypedField } from '../../types/field-types.ts';
import { asPart } from '../../types/normalize.ts';
import { hasLoneSurrogate } from '../../types/text.ts';
import { type ReadTime, readTime } from '../parse-time.ts';
import { SubjectReader } from '../subject-reader.ts';
import { type Comparison, type Filter, filterLimits, kindOfValue } from './filter.ts';
import type { GivenComparison, GivenFilter, GivenOperand } from './given-filter.ts';
import { nameOfSubject, type Subject } from './names.ts';
import {
  findOperator,
  isFor,
  type Operator,
  type OperatorName,
  operatorsFor,
  takesList,
} from './operators.ts';
import { byRecordTimes } from './time-comparison.ts';

type OperandResult =
  | { readonly value: StoredValue | Date; readonly beyond?: ReadTime['beyond'] }
  | { readonly problem: string };
type Operands = readonly Extract<OperandResult, { readonly value: unknown }>[];

/** Parses the filter of a request by the structure of the space, and collects every problem. */
export class FilterReader {
  readonly problems: string[] = [];
  readonly #subjects: SubjectReader;
  #inLists = 0;

  constructor(structure: Structure) {
    this.#subjects = new SubjectReader(structure, this.problems);
  }

  /** Null: there is a problem. */
  read(filter: GivenFilter, isInGroup = false): Filter | null {
    if ('problem' in filter) {
      this.problems.push(filter.problem);
      return null;
    }
    if (!('group' in filter)) return this.#comparison(filter, isInGroup);
    const branches = filter.branches.map((items) => {
      const read = items.map((item) => this.read(item, true)).filter((item) => item !== null);
      return read.length === 1 ? (read[0] as Filter) : { group: 'all' as const, branches: read };
    });
    return { group: filter.group, branches };
  }

  #comparison(filter: GivenComparison, isInGroup: boolean): Comparison | null {
    const found = this.#subjects.read(filter.name);
    if (found === null) return null;
    const { operator } = filter;
    const { target } = found;
    const isHashed = typeof target !== 'string' && target.hashed;
    if (isHashed && (operator !== 'eq' || isInGroup)) {
      const reason = isInGroup ? ' and can not be used in a group' : '; it can only be compared with eq';
      this.problems.push(`Query field: ${shownName(nameOfSubject(found))} is hashed${reason}`);
      return null;
    }
    const kind = kindOfValue(found);
    const known = findOperator(operator);
    if (known === null || !isFor(kind, known)) {
      const all = operatorsFor(kind).join(', ');
      this.problems.push(
        `Query field: ${shownName(nameOfSubject(found))} has no operator ${shownName(operator)}; ${kind.words} has ${all}`,
      );
      return null;
    }
    const operands = this.#operands(filter, found, known);
    if (operands === null) return null;
    const compared = comparisonBy(operator as OperatorName, operands);
    return { target, path: found.path, operator: compared.operator, values: compared.values };
  }

  #operands(filter: GivenComparison, found: Subject, known: Operator): Operands | null {
    const isList = takesList(known);
    const { operator } = filter;
    const shown = (): string =>
      shownName(`${nameOfSubject(found)}${operator === 'eq' ? '' : `[${operator}]`}`);
    const all = isList ? listOf(filter.operand) : [filter.operand];
    if (all === null) {
      this.problems.push(`Value for Query field: ${shown()} should be a list`);
      return null;
    }
    const most = 'texts' in filter.operand ? filterLimits.listInQuery : filterLimits.listInBody;
    if (all.length > most) {
      this.problems.push(
        `The list of ${shown()} has ${all.length.toLocaleString('en')} values; at most ${most.toLocaleString('en')} are allowed`,
      );
      return null;
    }
    if (isList) this.#inLists += all.length;
    if (this.#inLists > filterLimits.inLists) {
      this.problems.push(`The lists of the query have more than ${filterLimits.inLists} values together`);
      return null;
    }
    const operands: Operands[number][] = [];
    for (const one of all) {
      const reading = readOperand(one, found, known);
      if ('problem' in reading) {
        this.problems.push(`Value for Query field: ${shown()} ${reading.problem}`);
        return null;
      }
      operands.push(reading);
    }
    return operands;
  }
}

function comparisonBy(operator: OperatorName, operands: Operands): Pick<Comparison, 'operator' | 'values'> {
  const isExact = operands.every(({ beyond = 0 }) => beyond === 0);
  if (isExact) return { operator, values: operands.map(({ value }) => value) };
  return byRecordTimes(
    operator,
    operands.map(({ value, beyond = 0 }) => ({ time: value as Date, beyond })),
  );
}

function listOf(operand: GivenOperand): readonly GivenOperand[] | null {
  if ('texts' in operand) return operand.texts.map((text) => ({ texts: [text] }));
  return Array.isArray(operand.json) ? operand.json.map((json) => ({ json })) : null;
}

function readOperand(
  filter: GivenOperand,
  { target, path }: Subject,
  { operand, isPart }: Operator,
): OperandResult {
  const text = 'texts' in filter ? (filter.texts[0] as string) : null;
  const json = 'json' in filter ? filter.json : undefined;
  if (operand === 'boolean') {
    const value = text === null ? json : booleans.get(text);
    return typeof value === 'boolean' ? { value } : { problem: 'should be true or false' };
  }
  if (operand === 'length') {
    const value = text === null ? json : /^\d+$/.test(text) ? Number(text) : null;
    return Number.isSafeInteger(value) && (value as number) >= 0
      ? { value: value as number }
      : { problem: 'should be a whole number from 0' };
  }
  if (operand === 'element' || operand === 'elements' || path.length > 0)
    return text === null ? readElement(json, path.length > 0) : readElementText(text, path.length > 0);
  if (typeof target !== 'string') {
    const field = isPart === true ? asPart(target) : target;
    if (text !== null) return readConditionValue(field, text);
    return json === null ? { problem: 'should not be null: use exists' } : readFieldValue(field, json);
  }
  return readSystemValue(target, text ?? json);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

const elementText = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|".*")$/s;

/** Without a declared type, a query's text is JSON for a number, a boolean or a quoted string, else text. */
function readElementText(text: string, isPath: boolean): OperandResult {
  if (!elementText.test(text)) return readElement(text, isPath);
  try {
    return readElement(parseExactly(text), isPath);
  } catch (error) {
    if (error instanceof RoundedNumber) return { problem: `should be a valid value: ${error.message}` };
    return readElement(text, isPath);
  }
}

function readElement(value: unknown, isPath: boolean): OperandResult {
  if (isPath && value === null) return { problem: 'should not be null: use exists' };
  try {
    return { value: canonicalJson(value) };
  } catch (error) {
    if (error instanceof NotCanonicalError) return { problem: `should be a valid value: ${error.message}` };
    throw error;
  }
}

/** @param value a text of a query, or a value of a body */
export function readSystemValue(key: Target & string, value: unknown): OperandResult {
  if (key === 'id')
    return typeof value === 'string' && !hasLoneSurrogate(value)
      ? { value }
      : { problem: 'should be a valid string' };
  const time = typeof value === 'string' ? readTime(value) : null;
  return time === null
    ? { problem: 'should be a valid time such as 2026-01-31T12:00:00.000Z, or a day such as 2026-01-31' }
    : { value: time.time, beyond: time.beyond };
}

/** Reads the text of a query parameter by the declared type of its field (interface.md section 2.2 rule 1). */
export function readConditionValue(field: TypedField, text: string): ValueReading {
  return fieldTypes[field.type].readText(text, field);
}
