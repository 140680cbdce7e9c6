import type { ModelType } from './model-field.ts';

/** JSON texts, because some of what clients may send (-0, 1e999, a repeated key) is not what JSON.stringify writes. */
type Pool = readonly string[];

const texts = [
  'a',
  'A',
  'b',
  '',
  'Straße Ab',
  'null',
  'true',
  '0',
  "it's",
  "'",
  '"',
  '\\',
  "\\'",
  '\\\\N',
  '\\N',
  '\0',
  'a\0b',
  '\x01\x1f\x7f',
  '\t\n\r',
  ' a',
  'a ',
  '%',
  '_',
  '`',
  '{x:String}',
  "'; DROP TABLE x; --",
  '😀',
  '\uffff',
  '\u{10ffff}',
  '\u2028',
  '\ufeff',
  'é',
  'e\u0301',
  'ΟΔΟΣ',
  'οδος',
  'ſK',
  'İı',
  '[]',
  '{}',
  'NULL',
  'b'.repeat(3000),
  `${'b'.repeat(3000)}c`,
];

const nested = [
  '[1]',
  '[1.0]',
  '{"a":1}',
  '[null]',
  '{"b":2,"a":1}',
  '{"a":1,"b":2}',
  '{}',
  '[]',
  '["a"]',
  '[[]]',
  '[{}]',
  '[{"b":[{"d":1,"c":2}],"a":{}}]',
  '{"a":{"z":[],"b":{"y":1,"x":2}}}',
  '[-0]',
  '[0]',
  '["\\ud800"]',
  '{"\\udc00":"\\ud83d"}',
  '{"__proto__":{"a":1},"constructor":2}',
  '{"10":1,"9":2,"a":3}',
  '{"":[]}',
  '{"\\uffff":1,"\\ud83d\\ude00":2}',
  '[1e21,-1e-7,0.1,123456789012345680000,5e-324,1.7976931348623157e308]',
  '[9007199254740992]',
  '["\\u0000","\\u0001\\u007f","\\"","\\\\","\\/","\\n"]',
  '{"it\'s":"\\\\","\\u0000":null}',
  '[true,false,null,"null"]',
  '["\\u2028😀é"]',
  '[[[[[[[[[[1]]]]]]]]]]',
];

const pools: Readonly<Record<ModelType, Pool>> = {
  TEXT: texts.map((text) => JSON.stringify(text)),
  NUMBER: [
    '1',
    '2',
    '0',
    '-0',
    '0.1',
    '1.0',
    '1e308',
    '5e-324',
    '-5e-324',
    '9007199254740992',
    '9007199254740994',
    '-9007199254740992',
    '18446744073709551616',
    '1e21',
    '1e-7',
    '123456789012345680000',
    '0.30000000000000004',
    '0.3',
    '-1.7976931348623157e308',
    '2.2250738585072014e-308',
    '1.5e300',
    '-2',
    '10',
  ],
  BOOLEAN: ['true', 'false'],
  ARRAY: nested.filter((text) => text.startsWith('[')),
  OBJECT: nested.filter((text) => text.startsWith('{')),
};

const misfits: Readonly<Record<ModelType, Pool>> = {
  TEXT: ['1', 'true', '[]', '{}', '"\\ud800"', '"a\\udc00b"'],
  NUMBER: ['"1"', '1e999', '-1e999', 'false', '[1]', '{}', '""'],
  BOOLEAN: ['"true"', '1', '0', '[]', '{}'],
  ARRAY: ['{}', '"[]"', '1', '[1e999]', '{"length":0}'],
  OBJECT: ['[]', '"{}"', '1', '{"a":[1e999]}', 'true'],
};

export function pooledValue(type: ModelType, pick: number): string {
  return at(pools[type], pick);
}

export function misfit(type: ModelType, pick: number): string {
  return at(misfits[type], pick);
}

/** Texts of a query that are no value of the type; null where there is none. */
export function misfitText(type: ModelType, pick: number): string {
  return at(
    {
      TEXT: ['\ud800', 'a\udc00'],
      NUMBER: ['', 'x', '0x10', ' 1', '1 ', '1e999', 'NaN', 'Infinity', '1_0', '--1', '1e'],
      BOOLEAN: ['', 'True', '1', 'null', ' true'],
      ARRAY: ['', '{', '{}', 'null', '1', '[1e999]', '[1', '"[]"'],
      OBJECT: ['', '{', '[]', 'null', '{a:1}', '{"a":1e999}', '"{}"'],
    }[type],
    pick,
  );
}

/** Ways to write a value, given as JSON text, in a query. */
export function queryText(type: ModelType, json: string, form: number): string {
  const value: unknown = JSON.parse(json);
  if (type === 'TEXT') return String(value);
  if (type === 'NUMBER') {
    const number = value as number;
    return at([json, String(number), number.toExponential(), number < 0 ? json : `+${json}`, json], form);
  }
  if (type === 'BOOLEAN') return json;
  return at([json, ` ${json}\n`, turnedText(value)], form);
}

/** The same JSON value with the keys of its objects the other way round. */
function turnedText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(turnedText).join()}]`;
  const entries = Object.entries(value).reverse();
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${turnedText(item)}`).join()}}`;
}

export function at<Item>(items: readonly Item[], pick: number): Item {
  return items[pick % items.length] as Item;
}
