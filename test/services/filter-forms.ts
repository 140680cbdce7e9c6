/** How a URL, a body and the published client say filters. `form` is one of three that mean the same. */
import type { Branch, Comparison, Json } from './filter-oracle.ts';
import { keyOf, nameOf } from './filter-trees.ts';

const takesList = new Set(['in', 'nin', 'hasAny', 'hasAll']);
const isUntyped = ({ type, operator }: Comparison): boolean => type === 'path' || operator.startsWith('has');

const isDigits: ReadonlySet<string> = new Set(['INTEGER', 'BIGINT', 'DECIMAL']);

function textOf(comparison: Comparison, value: Json, form: number): string {
  const { type, operator } = comparison;
  if (operator === 'exists' || operator === 'size') return String(value);
  if (type === 'time') return timeText(value as number, form);
  if (isUntyped(comparison))
    return typeof value === 'string' && !isJson(value) ? value : JSON.stringify(value);
  if (type === 'NUMBER') return `${form === 1 && Number(value) >= 0 ? '+' : ''}${value}`;
  if (form === 1 && type === 'DATETIME') return String(value).toLowerCase();
  if (form === 1 && isDigits.has(type) && !String(value).startsWith('-')) return `+${value}`;
  if (form === 2 && type === 'DECIMAL') return `${value}0`;
  return typeof value === 'string' ? value : JSON.stringify(form === 1 ? reversed(value) : value);
}

/** A text that has to be quoted to stay one. */
function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) !== 'object';
  } catch {
    return false;
  }
}

function timeText(time: number, form: number): string {
  const whole = Math.floor(time);
  const digits = time === whole ? '' : String(time - whole).slice(2);
  const textAt = (moment: number): string => new Date(moment).toISOString().slice(0, -1) + digits;
  if (form === 0) return `${textAt(whole)}Z`;
  if (form === 1) return `${textAt(whole)}000z`;
  return `${textAt(whole + 7_200_000)}+02:00`;
}

/** The same value, with the keys of objects the other way round. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, reversed(one)] as const)
      .reverse(),
  );
}

export function asPairs(branch: Branch, form: number, prefix = ''): [string, string][] {
  return branch.flatMap((item): [string, string][] => {
    const inPrefix = (name: string): string => (prefix === '' ? name : `${prefix}[${name}]`);
    if ('group' in item)
      return item.branches.flatMap((one, index) => asPairs(one, form, `${inPrefix(item.group)}[${index}]`));
    const { operator, operand, raw } = item;
    const name = inPrefix(nameOf(item));
    if (raw !== undefined) return [raw].flat().map((text) => [`${name}[${operator}]`, String(text)]);
    if (!takesList.has(operator))
      return [[operator === 'eq' && form !== 2 ? name : `${name}[${operator}]`, textOf(item, operand, form)]];
    return (operand as Json[]).map((value, index) => [
      `${name}[${operator}]${['', '[]', `[${index}]`][form]}`,
      textOf(item, value, form),
    ]);
  });
}

/** What the client is given: values as a program has them where an address can say them. */
export function asParams(branch: Branch, form: number): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  for (const item of branch) {
    if ('group' in item) {
      params[item.group] = item.branches.map((one) => asParams(one, form));
      continue;
    }
    const name = nameOf(item);
    const one = (value: Json): unknown => {
      const isDate = item.type === 'time' && form === 0 && Number.isInteger(value);
      if (isDate && item.operator !== 'exists') return new Date(value as number);
      const isPlain = item.type === 'NUMBER' || item.type === 'BOOLEAN';
      return isPlain && !isUntyped(item) ? value : textOf(item, value, form);
    };
    if (item.raw !== undefined) {
      params[name] = { ...(params[name] as object), [item.operator]: item.raw };
      continue;
    }
    const operand = takesList.has(item.operator) ? (item.operand as Json[]).map(one) : one(item.operand);
    params[name] = { ...(params[name] as object), [item.operator]: operand };
  }
  // alone, and in a form that has no operator
  for (const [name, value] of Object.entries(params)) {
    const operators = Object.keys(value as object);
    if (form !== 2 && operators.length === 1 && operators[0] === 'eq')
      params[name] = (value as { eq: unknown }).eq;
  }
  return params;
}

/** An object where it can say all, or a list of pairs and triples. */
export function asBody(branch: Branch, form: number): unknown {
  const entries = branch.map((item): [string, unknown] | [string, string, unknown] => {
    if ('group' in item) return [item.group, item.branches.map((one) => asBody(one, form))];
    const { operator, operand, raw } = item;
    if (raw !== undefined) return operator === '' ? [nameOf(item), raw] : [nameOf(item), operator, raw];
    const isOne = !takesList.has(operator);
    const value =
      item.type === 'time' && operator !== 'exists'
        ? timesOf(operand, form)
        : form === 1 && isOne
          ? reversed(operand)
          : operand;
    // an object is a value below an OBJECT alone
    const isShort = operator === 'eq' && (form !== 2 || item.type === 'OBJECT');
    const isObject = typeof operand === 'object' && operand !== null && !Array.isArray(operand);
    return isShort && (!isObject || item.type === 'OBJECT')
      ? [nameOf(item), value]
      : [nameOf(item), operator, value];
  });
  const isList =
    form === 1 ||
    new Set(branch.map(keyOf)).size < branch.length ||
    branch.some((item) => !('group' in item) && item.type === 'OBJECT' && item.operator !== 'eq');
  if (isList) return entries;
  const body: Record<string, unknown> = {};
  for (const [name, second, third] of entries as [string, unknown, unknown][]) {
    if (third === undefined && !Object.hasOwn(body, name)) body[name] = second;
    else if (third === undefined || !isOperators(body[name])) return entries;
    else body[name] = { ...(body[name] as object), [second as string]: third };
  }
  return body;
}

function isOperators(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

function timesOf(operand: Json, form: number): Json {
  return Array.isArray(operand)
    ? operand.map((time) => timeText(time, form))
    : timeText(operand as number, form);
}
