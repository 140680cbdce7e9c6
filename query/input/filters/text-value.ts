import { isRounded, parseExactly, RoundedInteger } from '../../../common/http/rounded-integer.ts';
import type { FieldType } from '../../structure/field.ts';
import { misfit, readFieldValue, type ValueReading } from '../../structure/field-value.ts';

// as JSON writes numbers, and with a plus sign, leading zeros or without the zero before the point
const decimal = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Converts the text of a query parameter by the declared type of its field (interface.md section 2.2 rule 1). */
export function readConditionValue(type: FieldType, text: string): ValueReading {
  switch (type) {
    case 'TEXT':
      return readFieldValue(type, text);
    case 'NUMBER':
      if (!decimal.test(text)) return misfit(type);
      if (isRounded(text)) return misfit(type, 'it has more digits than a NUMBER can hold');
      return readFieldValue(type, Number(text));
    case 'BOOLEAN':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : misfit(type);
    case 'ARRAY':
    case 'OBJECT':
      return readJson(type, text);
  }
}

function readJson(type: FieldType, text: string): ValueReading {
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch (error) {
    return misfit(type, error instanceof RoundedInteger ? error.message : undefined);
  }
  return readFieldValue(type, value);
}
