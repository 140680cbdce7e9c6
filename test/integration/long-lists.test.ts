/** Long lists of `in` and `nin`, which the engine reads as one text: values mean themselves there as well. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

// rows in memory would answer
const harness = await queryHarnessFor(t, { pending: { cacheBytes: 0 } });
const structure = structureOf(
  'p',
  'lists',
  fieldsOf('key TEXT unique, text TEXT, number NUMBER, yes BOOLEAN'),
);
const lists = spaceOf(harness, 'p', 'lists', structure);

const texts = [
  ...['', "'", '\\', "\\'", '","', "','", ']', '[a]', '\n\t\0\b', 'é😀', '\ufffd', 'NULL', '%_'],
  "x') OR ('1",
];
const numbers = [0, -1, 0.1, 0.30000000000000004, 5e-324, 1.7976931348623157e308, 1e23, 123456789.01];
const others = Array.from({ length: 5000 }, (_, at) => at);

t.test('values of long lists are found, and nothing else', async (t) => {
  const { body: stored } = await lists.insert(
    texts.map((text, at) => ({ key: `k${text}`, text, number: numbers[at % numbers.length], yes: at > 3 })),
  );
  await lists.insert([{ key: 'none' }]);
  const asked = async (body: unknown): Promise<unknown> => {
    const answer = await harness.call({ method: 'QUERY', path: '/p/lists', structure, body });
    return answer.status === 200 ? answer.body.map(({ key }: { key: string }) => key) : answer;
  };
  const all = texts.map((text) => `k${text}`);
  const far = others.map((at) => `other ${at}`);
  t.strictSame(await asked({ text: { in: [...far, ...texts] } }), all);
  t.strictSame(await asked({ text: { nin: [...far, ...texts.slice(1)] } }), all.slice(0, 1));
  t.strictSame(await asked({ text: { in: far } }), []);
  t.strictSame(await asked({ key: { in: [...all, ...far] } }), all);
  t.strictSame(await asked({ $or: [{ key: { in: [...far, 'none'] } }, { key: 'k' }] }), ['k', 'none']);
  t.strictSame(await asked({ number: { in: [...others.map((at) => at + 0.5), ...numbers] } }), all);
  const one = numbers.filter((number) => number !== 0.1);
  t.strictSame(await asked({ number: { nin: [...others, ...one] } }), [all[2], all[10]]);
  t.strictSame(await asked({ yes: { in: Array.from({ length: 20 }, () => true) } }), all.slice(4));
  const ids = (stored as { id: string }[]).map(({ id }) => id);
  const wrong = ids.flatMap((id) => [id.replace(/.$/, 'x'), `${id}'`]);
  t.strictSame(await asked({ id: { in: [...wrong, ...ids] } }), all);
  const times = (stored as { createdAt: string }[]).map(({ createdAt }) => createdAt);
  const past = others.map((at) => new Date(at).toISOString());
  t.strictSame(await asked({ createdAt: { in: [...past, ...times] }, text: { exists: true } }), all);
});
