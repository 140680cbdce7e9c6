import t from 'tap';
import type { MixSpace } from '../../load/mix/mix.ts';
import { parseMix } from '../../load/mix/read-mix.ts';
import { recordOf } from '../../load/seed/records.ts';
import { type ReadRecord, verifyRecords } from '../../load/verify/verify-records.ts';
import { WrongList } from '../../load/verify/wrong-list.ts';

const mix = parseMix(
  'a.json',
  `{"spaces": [{"name": "people", "records": 1000, "fields": [{"name": "email", "unique": true}]}],
    "requests": [{"kind": "insert", "space": "people"}]}`,
);
const [space] = mix.spaces as [MixSpace];
const work = {
  seed: mix.seed,
  space,
  records: Array.from({ length: 1000 }, (_, index) => ({ index, id: null, updates: [] })),
  changed: null,
};
const { signal } = new AbortController();
const right = (_: string, values: readonly unknown[]): ReadRecord[] =>
  work.records
    .map(({ index }) => ({ id: `${index}`, ...recordOf(mix.seed, space, index) }) as ReadRecord)
    .filter(({ email }) => values.includes(email));

t.test('a server that hangs is asked no further, and nothing of it is called lost', async (t) => {
  const list = new WrongList();
  let finds = 0;
  const find = async (field: string, values: readonly unknown[]) => {
    if (++finds > 2) throw new DOMException('no answer came in time', 'TimeoutError');
    return right(field, values);
  };
  const failed = verifyRecords({ find }, work, { list, signal });
  await t.rejects(failed, { message: /^the server does not answer: / });
  t.strictSame(list.wrong, []);
  t.ok(finds < 10, `${finds} of 10 finds`);
});

t.test('a server that is gone for a moment is asked again', async (t) => {
  const list = new WrongList();
  let finds = 0;
  const find = async (field: string, values: readonly unknown[]) => {
    if (++finds <= 3) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    return right(field, values);
  };
  await verifyRecords({ find }, work, { list, signal });
  t.match(list.verification, { checked: 1000, wrong: [] });
});

t.test('an answer that breaks off each time is said of its records', async (t) => {
  const list = new WrongList();
  const few = { ...work, records: work.records.slice(0, 100) };
  const find = async () => {
    throw Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
  };
  await verifyRecords({ find }, few, { list, signal });
  t.strictSame(list.wrong, ["records 0 to 99 of people can't be read: the connection was closed"]);
});
