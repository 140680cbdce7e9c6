import fc from 'fast-check';
import t from 'tap';
import { callerMetadata, storedMetadata, writerIdOf } from '#objects/s3/s3-metadata.ts';
import { sized } from '../services/test-size.ts';

const of = (metadata: Record<string, string>) => ({ contentType: 'text/plain', metadata });

t.test('any text comes back, and is plain ASCII meanwhile', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      const stored = storedMetadata(of({ text }), 'id');
      if (!/^[\x20-\x7e]*$/.test(stored.text ?? '') || stored.text?.trim() !== stored.text) return false;
      return callerMetadata(stored).text === text;
    }),
    { numRuns: sized(2000) },
  );
  t.pass();
});

t.test('plain text stays readable, and what is encoded already is not encoded again', async (t) => {
  const { a, b } = storedMetadata(of({ a: 'report 2026, final', b: 'b%20c' }), 'id');
  t.equal(a, 'report 2026, final');
  t.equal(b, 'b%20c');
});

t.test('the writer is told apart from what was given', async (t) => {
  const stored = storedMetadata(of({ a: 'b' }), 'the-writer');
  t.equal(writerIdOf(stored), 'the-writer');
  t.strictSame(callerMetadata(stored), { a: 'b' });
  t.equal(writerIdOf({ a: 'b' }), undefined);
});

t.test('names are lower case, and not ours', async (t) => {
  for (const name of ['A', 'ä', 'a b', '', 'sluice-writer']) {
    t.throws(() => storedMetadata(of({ [name]: 'x' }), 'id'), { message: /bad metadata name/ }, name);
  }
});

t.test('what looks encoded and is not is left as it is', async (t) => {
  t.strictSame(callerMetadata({ a: "utf-8''%zz" }), { a: "utf-8''%zz" });
});
