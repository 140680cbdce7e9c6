export type ModelType = 'TEXT' | 'NUMBER' | 'BOOLEAN' | 'ARRAY' | 'OBJECT';

/** A value that a record holds; of ARRAY and OBJECT the canonical JSON text. */
export type ModelValue = string | number | boolean;

export interface ModelField {
  readonly name: string;
  readonly slug: string;
  readonly type: ModelType;
  readonly required: boolean;
  readonly unique: boolean;
  readonly hashed: boolean;
  readonly description: string;
  readonly comment: string;
  readonly defaultValue: ModelValue | null;
}

/** As the contract words it: `should be a valid number`. */
export const typeWord: Readonly<Record<ModelType, string>> = {
  TEXT: 'string',
  NUMBER: 'number',
  BOOLEAN: 'boolean',
  ARRAY: 'array',
  OBJECT: 'object',
};

/** A held value as one of another type; null when nothing of it could be left out. */
export function convertedValue(from: ModelType, to: ModelType, value: ModelValue): ModelValue | null {
  if (to === 'TEXT') return from === 'NUMBER' || from === 'BOOLEAN' ? String(value) : null;
  if (from !== 'TEXT') return null;
  if (to === 'BOOLEAN') return value === 'true' ? true : value === 'false' ? false : null;
  if (to !== 'NUMBER') return null;
  const [whole = '', rest = ''] = String(value).split('.');
  const fraction = rest.replace(/0+$/, '');
  const short = /^\d+$/.test(rest) ? (fraction === '' ? whole : `${whole}.${fraction}`) : String(value);
  const number = Number(short);
  return Number.isFinite(number) && short === String(number) ? number : null;
}

const decimal = /^[+-]?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?$/;

/** A value of a body, other than null, by the declared type; null when it does not fit. */
export function readValue(type: ModelType, value: unknown): ModelValue | null {
  if (type === 'TEXT') return typeof value === 'string' && value.isWellFormed() ? value : null;
  if (type === 'NUMBER') return typeof value === 'number' && Number.isFinite(value) ? value + 0 : null;
  if (type === 'BOOLEAN') return typeof value === 'boolean' ? value : null;
  if (typeof value !== 'object' || value === null) return null;
  return Array.isArray(value) === (type === 'ARRAY') ? canonicalText(value) : null;
}

/** The text of a query parameter by the declared type; null when it does not fit. */
export function readText(type: ModelType, text: string): ModelValue | null {
  if (type === 'TEXT') return readValue(type, text);
  if (type === 'NUMBER') return decimal.test(text) ? readValue(type, Number(text)) : null;
  if (type === 'BOOLEAN') return text === 'true' ? true : text === 'false' ? false : null;
  const value = parsedJson(text);
  return value === undefined ? null : readValue(type, value);
}

/** Undefined for what is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A held value as answers show it, as JSON text. */
export function shownText(type: ModelType, value: ModelValue | null): string {
  return value !== null && (type === 'ARRAY' || type === 'OBJECT') ? String(value) : JSON.stringify(value);
}

/**
 * JSON text that is equal for equal values, with the keys of objects sorted as answers show them. Null when a value is
 * none that a record may have: a number beyond a double.
 */
function canonicalText(value: unknown): string | null {
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts = Array.isArray(value)
    ? value.map(canonicalText)
    : Object.keys(value)
        .sort()
        .map((key) => {
          const text = canonicalText(ownValue(value, key));
          return text === null ? null : `${JSON.stringify(key)}:${text}`;
        });
  if (parts.includes(null)) return null;
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

/** A property that may be called `__proto__`. */
function ownValue(object: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
