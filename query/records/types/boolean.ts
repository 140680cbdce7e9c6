import { booleanLiteral } from '#engine/literal.ts';
import { asStored, type FieldTypeEntry, misfit } from './field-type.ts';
import { booleanOrder } from './value-order.ts';

const valid = 'boolean';

export const boolean: FieldTypeEntry = {
  words: 'a BOOLEAN',
  title: 'Boolean',
  valid,
  can: ['listed'],
  read: (value) => (typeof value === 'boolean' ? { value } : misfit(valid)),
  readText: (text) => (text === 'true' || text === 'false' ? { value: text === 'true' } : misfit(valid)),
  infers: (value) => typeof value === 'boolean',
  isJson: false,
  cell: 'boolean',
  isQuoted: false,
  comparable: (text) => text === 'true',
  order: booleanOrder,
  hasFewValues: true,
  column: () => 'b',
  engineType: 'Bool',
  castSql: (text) => `CAST(${text} = 'true', 'Bool')`,
  literal: (value) => booleanLiteral(value as boolean),
  jsonSql: (value) => `toJSONString(${value})`,
  schema: { type: 'boolean' },
  example: true,
  conversions: { TEXT: asStored },
};
