import { textLiteral } from '#engine/literal.ts';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { canonicalJson, NotCanonicalError } from './canonical-json.ts';
import { type FieldTypeEntry, misfit, type ValueReading } from './field-type.ts';
import { isObject } from './is-object.ts';
import { textOrder } from './value-order.ts';

/** What arrays and objects have in common: they are stored, compared and answered as their canonical JSON text. */
function nested(valid: 'array' | 'object', isOne: (value: unknown) => boolean) {
  const read = (value: unknown): ValueReading => {
    if (!isOne(value)) return misfit(valid);
    try {
      return { value: canonicalJson(value) };
    } catch (error) {
      if (error instanceof NotCanonicalError) return misfit(valid, error.message);
      throw error;
    }
  };
  return {
    valid,
    read,
    readText(text: string): ValueReading {
      let value: unknown;
      try {
        value = parseExactly(text);
      } catch (error) {
        return misfit(valid, error instanceof RoundedNumber ? error.message : undefined);
      }
      return read(value);
    },
    infers: isOne,
    isJson: true,
    cell: 'json',
    isQuoted: false,
    comparable: (text: string) => text,
    order: textOrder,
    column: () => 't',
    engineType: 'String',
    castSql: (text: string) => text,
    literal: (value) => textLiteral(value as string),
    jsonSql: (value: string) => value,
    conversions: {},
  } as const satisfies Partial<FieldTypeEntry>;
}

export const array: FieldTypeEntry = {
  ...nested('array', Array.isArray),
  words: 'an ARRAY',
  title: 'Array',
  can: ['listed', 'elements'],
  inQuery: '["a","b"]',
  schema: { type: 'array', items: {} },
  example: [],
};

export const object: FieldTypeEntry = {
  ...nested('object', isObject),
  words: 'an OBJECT',
  title: 'Object',
  can: ['paths'],
  inQuery: '{"a":1}',
  schema: { type: 'object', additionalProperties: true },
  example: {},
};
