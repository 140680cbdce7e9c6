/** What properties and fuzzers send where a well-meaning client would not: one set for all of them. */
import fc from 'fast-check';
import { hostileTexts } from './hostile-texts.ts';

/** Those that fit wherever a request has a place for a text. */
const shortTexts = hostileTexts.filter((text) => text.length < 2000);

/** Well-formed, and not empty. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...shortTexts),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
);

/** Also empty, broken or too long, and the beginnings and ends of other things. */
export const strangeText: fc.Arbitrary<string> = fc.oneof(
  hostileText,
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', ' ', '{', '[]', 'null', '{"a":1', '%', '-1', '1e999', 'true,true', 'x'.repeat(5000)),
);

/** Names of keys that objects have, or should not have. */
export const hostileKey: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('name', 'age', 'id', '__proto__', 'constructor', 'firstName', ''),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
);

export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
  fc.constantFrom<unknown>(36, 'Ada', true, null, [], {}, 1e308, -0, '\u0000', '\ud800'),
);
