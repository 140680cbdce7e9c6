/** A live reader that takes few bytes while others write for ever: it becomes ready, and has what a find would answer. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { LiveStream } from '#query/live/live-stream.ts';
import { liveOver } from '../services/live-over.ts';
import { randomFrom } from '../services/random-from.ts';
import { full } from '../services/test-size.ts';

const count = 800;
const size = 4000;
/** Bytes that the reader takes in a turn. */
const perTurn = 32 * 1024;

type Live = ReturnType<typeof liveOver>;

interface Writers {
  readonly name: string;
  /** What they do in a turn of the reader. */
  turn(live: Live, random: (below: number) => number): void;
  /** Whether the reader keeps up with them. */
  readonly isSlow: boolean;
}

const padded = (text: string): string => text.padEnd(size, 'x');
let written = 0;

function updates(many: number, isSlow: boolean): Writers {
  return {
    name: `${many} updates a turn`,
    isSlow,
    turn({ write }, random) {
      for (let at = 0; at < many; at++) write(`${random(count)}`, padded(`v${++written}`));
    },
  };
}

const all: readonly Writers[] = [
  updates(1, true),
  updates(5, false),
  updates(400, false),
  {
    name: 'records that come and go at once',
    isSlow: true,
    turn({ write }) {
      for (let at = 0; at < 300; at++) write(`gone${++written}`, 'short');
      for (let at = 0; at < 300; at++) write(`gone${written - at}`, null);
    },
  },
  {
    name: 'records that come, change and go later, one for another',
    isSlow: true,
    turn({ rows, write }) {
      const [first = ''] = rows.keys();
      write(first, padded(`v${++written}`));
      write(first, null);
      write(`new${++written}`, padded('new'));
    },
  },
];

/** A reader that has what its events add up to, while turns pass. */
function readerOf(live: Live, { turn }: Writers) {
  const random = randomFrom(1);
  const client = live.watch();
  const records = new Map<string, string>();
  const types: string[] = [];
  let [rest, bytes] = ['', 0];
  const hear = (block: string): void => {
    const [, type = '', data = ''] = /event: (\w+)\ndata: (.*)/.exec(block) ?? [];
    if (type === '') return;
    types.push(type);
    if (type === 'reset') records.clear();
    if (type === 'reset' || type === 'ready') return;
    const heard = [JSON.parse(data)].flat() as readonly { id: string; name: string }[];
    if (type === 'leave') for (const { id } of heard) records.delete(id);
    else for (const { id, name } of heard) records.set(id, name);
  };
  /** @param isWriting whether turns pass */
  const take = async (isWriting: boolean): Promise<void> => {
    const { value, done } = await client.chunks.next();
    if (done === true) throw new Error(`it ended: ${rest}`);
    const before = Math.floor(bytes / perTurn);
    bytes += value.byteLength;
    const blocks = (rest + value.toString()).split('\n\n');
    rest = blocks.pop() as string;
    for (const block of blocks) hear(block);
    if (!isWriting || types.at(-1) === 'ready') return;
    for (let at = before; at < Math.floor(bytes / perTurn); at++) {
      turn(live, (below) => Math.floor(random() * below));
      await nextTurn();
    }
  };
  const write = (): void => turn(live, (below) => Math.floor(random() * below));
  return { records, types, take, write, bytes: () => bytes };
}

const named = ({ rows }: Live) => new Map([...rows].map(([id, { _doc }]) => [id, _doc.t0]));
const sorted = (map: ReadonlyMap<string, unknown>) =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));

for (const writers of full ? all : all.slice(3, 4))
  t.test(`ready beside ${writers.name}`, async (t) => {
    const live = liveOver(t);
    for (let at = 0; at < count; at++) live.write(`${at}`, padded('v0'));
    const reader = readerOf(live, writers);
    while (!reader.types.includes('ready')) {
      await reader.take(true);
      if (reader.types.filter((type) => type === 'snapshot').length > 1000) throw new Error('never');
      if (reader.bytes() > 10 * count * size) break;
    }
    t.notOk(reader.types.includes('reset'), 'one beginning');
    const ratio = reader.bytes() / (count * size);
    t.ok(ratio < 1.5, `${ratio.toFixed(2)} times the bytes`);
    t.equal(reader.types.filter((type) => type === 'ready').length, 1);
    if (writers.isSlow) t.strictSame(sorted(reader.records), sorted(named(live)));
    // the others go on, and then leave it the time to catch up
    for (let at = 0; at < 20; at++) {
      for (let turns = 0; turns < 3; turns++) reader.write();
      live.write('5', padded(`last ${at}`));
      await reader.take(false);
    }
    live.write('last', 'last');
    while (!reader.records.has('last')) await reader.take(false);
    t.strictSame(sorted(reader.records), sorted(named(live)), 'what a find answers');
    t.notOk(reader.types.includes('reset'));
  });

t.test('a reader that is cut before it caught up misses nothing when it resumes', async (t) => {
  const live = liveOver(t);
  const first = live.watch();
  await first.until(/event: ready/);
  for (let at = 0; at < 900; at++) live.write(`${at}`, padded('v0'));
  for (let at = 0; at < 900; at += 7) live.write(`${at}`, at % 2 === 0 ? null : padded('v1'));
  const has = new Map<string, string>();
  let place = /id: (.*)\nevent: ready/.exec(first.text)?.[1] ?? '';
  // each connection takes a part of what waits
  for (let connections = 0; has.size < live.rows.size; connections++) {
    const client = connections === 0 ? first : live.watch({ 'last-event-id': place });
    client.text = '';
    await client.until(/event: /);
    for (const [, id = '', type, data = ''] of client.text.matchAll(/id: (.*)\nevent: (\w+)\ndata: (.*)/g)) {
      place = id;
      t.notMatch(type, /reset|snapshot/);
      const { id: record, name } = JSON.parse(data);
      if (type === 'leave') has.delete(record);
      else if (type !== 'ready') has.set(record, name);
    }
    live.write('1', padded(`v${connections}`));
    client.leave();
    await client.chunks.return(undefined);
    if (connections === 100) throw new Error('it does not come on');
  }
  t.strictSame(sorted(new Map(has).set('1', '')), sorted(named(live).set('1', '')));
});

t.test('what waits is bounded by the records, and not by how often they change', (t) => {
  const share = { bytes: 0, most: 64 * 1024 * 1024, streams: 1 };
  const stream = new LiveStream(share);
  const event = Buffer.alloc(size);
  const push = (id: string, number: number, type: 'enter' | 'change' | 'leave' = 'change') =>
    stream.push({ id, type, event, number, at: 0, isNew: type === 'enter' });
  for (let at = 0; at < 100_000; at++) push(`${at % 10_000}`, at);
  t.ok(share.bytes < 2.5 * 1024 * 1024, `${share.bytes} bytes`);
  t.notOk(stream.isReset);
  for (let at = 0; at < 100_000; at++) {
    push(`short${at}`, at, 'enter');
    push(`short${at}`, at, 'leave');
  }
  t.notOk(stream.isReset, 'records that came and went leave nothing');
  for (let at = 0; at < 12_000; at++) push(`new${at}`, at, 'enter');
  t.ok(stream.isReset, 'more than a find may have');
  t.equal(share.bytes, 0);
  t.end();
});
