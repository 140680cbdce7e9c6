import fc from 'fast-check';

/** Whose records, and where; what is equal between them is equal on purpose. */
export interface Place {
  readonly owner: string;
  readonly space: string;
}

/** A call that somebody makes who has a space, with whatever fits nowhere or belongs to others. */
export interface Attempt {
  readonly operation: string;
  readonly by: number;
  /** Whose record's id, and which one. */
  readonly of: number;
  readonly record: number;
  readonly value: string;
  readonly options: string;
  readonly slug: string;
}

const quotes = ["'", '"', '`', '\\', "\\'", "''", '%27', '\0', '\n', '/*', '--', ';', '\u2028', '😀'];

/** Texts that try to end a literal, a condition or a statement, and values that others have. */
export function hostileText(ids: readonly string[], shared: readonly string[]): fc.Arbitrary<string> {
  const sql = fc.tuple(fc.constantFrom(...quotes), fc.constantFrom(...ids)).map(
    ([quote, id]) => `${quote}) OR space = ${quote}${id}${quote} OR (${quote}1${quote} = ${quote}1`,
  );
  const union = fc
    .constantFrom(...quotes)
    .map((quote) => `${quote} UNION ALL SELECT * FROM sluice.records -- `);
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...shared) },
    { weight: 3, arbitrary: fc.constantFrom(...ids) },
    sql,
    union,
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constantFrom('', '*', '%', '_', 'null', 'true', '1', '[]', '{}', '__proto__', 'space', '_id', '_doc', 't0'),
  );
}

/** Options of a find, good and bad. */
export function hostileOptions(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const page = fc.record({ limit: fc.integer({ min: -1, max: 50 }), page: fc.integer({ min: -1, max: 3 }) });
  const by = fc.oneof(fc.constantFrom('text', 'n', 'id', 'createdAt', 'space', '_id', 't0', 'text OR 1'), texts);
  const sort = fc.record({ by, order: fc.constantFrom('asc', 'desc', 'DESC, space') });
  return fc.oneof(
    fc.constant('{}'),
    fc.record({ pagination: page, sort }).map((value) => JSON.stringify(value)),
    fc.record({ sort }).map((value) => JSON.stringify(value)),
    texts,
  );
}
