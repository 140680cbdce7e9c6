/** Large JSON bodies are weighed before they are parsed, and parsed in pieces. */
import fc from 'fast-check';
import t from 'tap';
import { JsonScanner, maxBodyValues, maxObjectMembers, maxRecordValues } from '#server/http/json-scanner.ts';
import { parseJson } from '#server/http/parse-json.ts';
import { sized } from '../services/test-size.ts';

const { signal } = new AbortController();

function scan(bytes: Uint8Array, pieceBytes?: number, chunk = 7): JsonScanner {
  const scanner = new JsonScanner(pieceBytes === undefined ? {} : { pieceBytes });
  for (let at = 0; at < bytes.byteLength; at += chunk) scanner.feed(bytes.subarray(at, at + chunk));
  return scanner;
}

/** The value as text, or 'refused'. */
async function inPieces(text: string | Uint8Array): Promise<string> {
  const bytes = Buffer.from(text as string);
  try {
    return JSON.stringify(await parseJson(bytes, signal, scan(bytes, 1).cuts));
  } catch {
    return 'refused';
  }
}

async function atOnce(text: string | Uint8Array): Promise<string> {
  try {
    return JSON.stringify(await parseJson(Buffer.from(text as string), signal));
  } catch {
    return 'refused';
  }
}

t.test('a text in pieces is the same value, or no JSON either', async (t) => {
  const json = fc
    .oneof(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.jsonValue())
    .map((v) => JSON.stringify(v));
  const broken = fc
    .tuple(
      json,
      fc.nat(),
      fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', ':', ' ', '1', '\uFEFF', '],['),
    )
    .map(([text, at, put]) => {
      const i = at % (text.length + 1);
      return text.slice(0, i) + put + text.slice(i + (at % 2));
    });
  await fc.assert(
    fc.asyncProperty(fc.oneof(json, broken), async (text) => (await inPieces(text)) === (await atOnce(text))),
    { numRuns: sized(3000) },
  );
  for (const text of [
    '[1,2,3]',
    '\uFEFF [ {"a":","} , [1,2] , "]" ] ',
    '[1,]',
    '[,1]',
    '[1,,2]',
    '[1],[2]',
    'x[1,2]',
    '[1,2]x',
    '[1,\uFEFF2]',
    '[1},{2]',
    '[]',
    '["\\",",2]',
  ]) {
    t.equal(await inPieces(text), await atOnce(text), text);
  }
  t.equal(await inPieces(Buffer.from([0x5b, 0x31, 0x2c, 0x22, 0xff, 0x22, 0x5d])), 'refused');
});

t.test('it is cut between elements of the outermost array only', async (t) => {
  const cuts = (text: string) => scan(Buffer.from(text), 1).cuts;
  t.strictSame(cuts('[{"a":[1,2]},"x,y",3]'), [12, 18]);
  t.strictSame(cuts('{"a":[1,2],"b":3}'), []);
  t.strictSame(cuts('"[1,2]"'), []);
  const large = Buffer.from(`[${Array.from({ length: 100_000 }, (_, i) => `{"n":${i}}`).join()}]`);
  const { cuts: few } = scan(large, undefined, 65_536);
  t.ok(few.length >= 15 && few.length <= 20, `${few.length} cuts in ${large.byteLength} bytes`);
});

t.test(
  'values are counted, not bytes: what is small on the wire and large in memory is refused',
  async (t) => {
    const array = (element: string, count: number) => Buffer.from(`[${Array(count).fill(element).join()}]`);
    t.throws(() => scan(array('{}', 5_600_000), undefined, 65_536), { status: 400, code: 'invalid_body' });
    t.throws(() => scan(Buffer.from(`{"a":${array('{}', maxRecordValues / 2)}}`), undefined, 65_536), {
      status: 400,
      message: `A record has more than ${maxRecordValues} values`,
    });
    const keys = (count: number) =>
      Buffer.from(
        JSON.stringify([
          { map: Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, { i }])) },
        ]),
      );
    scan(keys(maxObjectMembers), undefined, 65_536);
    t.throws(() => scan(keys(maxObjectMembers + 1), undefined, 65_536), {
      status: 400,
      message: `An object has more than ${maxObjectMembers} keys`,
    });
    t.equal(scan(Buffer.from(JSON.stringify(['[,{'.repeat(1_000_000), '"\\,']))).values, 2, 'texts are none');
  },
);

t.test('150,000 records of 5 fields are no bomb', async (t) => {
  const record = { name: 'Ada Lovelace', age: 36, email: 'ada@example.com', active: true, tags: ['a'] };
  const bytes = Buffer.from(JSON.stringify(Array(150_000).fill(record)));
  const scanner = scan(bytes, undefined, 65_536);
  t.ok(scanner.values < maxBodyValues / 2, `${scanner.values} values`);
  const value = (await parseJson(bytes, signal, scanner.cuts)) as unknown[];
  t.equal(value.length, 150_000);
  t.strictSame(value.at(-1), record);
});
