import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import type { Field, FieldType, StoredValue } from './field.ts';
import { normalized } from './normalize.ts';

/** A value in its stored form, or its problem as the end of a sentence ("should be a valid number"). */
export type ValueReading = { readonly value: StoredValue } | { readonly problem: string };

/** The part of a field that reading its values needs. */
export type ValueField = Pick<Field, 'type' | 'normalize'>;

const typeWords: Readonly<Record<FieldType, string>> = {
  TEXT: 'string',
  NUMBER: 'number',
  BOOLEAN: 'boolean',
  ARRAY: 'array',
  OBJECT: 'object',
};

export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
}

export function misfit(type: FieldType, reason?: string): { readonly problem: string } {
  return { problem: `should be a valid ${typeWords[type]}${reason === undefined ? '' : `: ${reason}`}` };
}

/** Whether a value of parsed JSON is stored as it is. `readFieldValue` would make an object for each. */
export function isPlainValue({ type, normalize }: ValueField, value: unknown): value is StoredValue {
  switch (typeof value) {
    case 'string':
      return type === 'TEXT' && normalize === undefined && value.isWellFormed();
    case 'number':
      // -0 is stored as 0
      return type === 'NUMBER' && value !== 0 && Number.isFinite(value);
    case 'boolean':
      return type === 'BOOLEAN';
    default:
      return false;
  }
}

/** Reads a value of parsed JSON, other than null, as its field stores and compares it. */
export function readFieldValue({ type, normalize }: ValueField, value: unknown): ValueReading {
  switch (type) {
    case 'TEXT':
      if (typeof value !== 'string') return misfit(type);
      if (hasLoneSurrogate(value)) return misfit(type, 'it has half of a surrogate pair');
      return { value: normalized(value, normalize) };
    case 'NUMBER':
      if (typeof value !== 'number' || !Number.isFinite(value)) return misfit(type);
      // -0 and 0 are the same value, also for a unique field
      return { value: value === 0 ? 0 : value };
    case 'BOOLEAN':
      return typeof value === 'boolean' ? { value } : misfit(type);
    case 'ARRAY':
      return Array.isArray(value) ? readNested(type, value) : misfit(type);
    case 'OBJECT':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? readNested(type, value)
        : misfit(type);
  }
}

function readNested(type: FieldType, value: object): ValueReading {
  try {
    return { value: canonicalJson(value) };
  } catch (error) {
    if (error instanceof NotCanonicalError) return misfit(type, error.message);
    throw error;
  }
}
