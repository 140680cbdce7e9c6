/** Writes to records that are in the write-ahead log: until the table has them, and after a process has died. */
import { randomUUID } from 'node:crypto';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import type { Database } from '#engine/database.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { hashOf, keyOf } from '#records/sql/record-keys.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { newBlock } from '#records/sql/row-block.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { RecordWrite } from '#records/store-embedded/known-records.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { PendingRecords } from '#records/store-embedded/pending-records.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { assignSlots } from '#records/structure/slots.ts';
import { createStructure } from '#records/structure/structure.ts';
import { type Asked, FaultyDatabase } from '../services/faulty-database.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { structureOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import '../services/test-size.ts';

const { db, folder, database } = await openMigratedChdb(t);
const table = new RecordsTable(db, database);
const signal = new AbortController().signal;
/** Nothing comes into the table by itself while a test runs. */
const never = { flushAfter: 3_600_000, retryAfter: 3_600_000 };

let directories = 0;
const newDirectory = (): string => join(folder, `wal-${++directories}`);
async function open(directory: string, more: Partial<Parameters<typeof PendingRecords.open>[0]> = {}) {
  const known = new KnownRecords(new MemoryTables(1e6));
  const args = { db, table, known, directory, log: silentLog(), times: never, ...more };
  return Object.assign(await PendingRecords.open(args), { find: known.find.bind(known) });
}

interface Content {
  readonly text: string;
  readonly number: number | null;
  readonly hash: string | null;
}
const contentOf = (text: string, number: number | null = 1, hash: string | null = null): Content => ({
  text,
  number,
  hash,
});

/** The record as it is written; its changes so far are known by the test. */
class Subject {
  readonly id = randomUUID();
  row: StoredRow | null = null;

  write(
    spaceId: string,
    content: Content | null,
    at: string,
  ): { write: RecordWrite; before: StoredRow | null } {
    const before = this.row;
    if (content === null) this.row = null;
    else {
      const doc = { t0: content.text, ...(content.number === null ? {} : { n0: String(content.number) }) };
      const created = before?._created_at ?? at;
      this.row = { _id: this.id, _created_at: created, _updated_at: at, _doc: doc };
    }
    const changed = before === null ? null : content === null ? [] : ['n0', 't0', 'h0'];
    const hashes = content === null || (content.hash === null && before === null) ? {} : { h0: content.hash };
    return { write: { spaceId, id: this.id, row: this.row, hashes, changed, unique: ['t0'] }, before };
  }
}

async function writeAll(
  pending: PendingRecords,
  writes: readonly { write: RecordWrite; before: StoredRow | null }[],
): Promise<void> {
  // a record of a block is not changed before the table has it
  for (const { write } of writes)
    if (write.changed !== null) await pending.settledBlocks(write.spaceId, signal);
  await pending.write(writes, { account: 'account', signal, seen: () => {} });
}

/** With the slots that subjects use. */
const structure = (() => {
  const fields = [
    { name: 'text', type: 'TEXT', unique: true },
    { name: 'number', type: 'NUMBER' },
    { name: 'hash', type: 'TEXT', hashed: true },
  ];
  const { structure: parsed } = parseStructure(structureOf('p', 's', fields));
  if (parsed === null) throw new Error('the structure of the test is wrong');
  return createStructure({ ...parsed, fields: assignSlots(parsed.fields, []) });
})();

/** Makes records, all of which are new, by a block. @param subjects with their contents */
async function writeBlock(
  pending: PendingRecords,
  spaceId: string,
  subjects: readonly (readonly [Subject, Content])[],
  at: string,
): Promise<void> {
  const ids = { id: spaceId, catalogueId: spaceId, ownerId: 'account', projectId: 'p' };
  const space = { ...ids, structure, stored: structure };
  const records = subjects.map(([subject, content]) => {
    subject.write(spaceId, content, at);
    return { id: subject.id, createdAt: at, values: [content.text, content.number, content.hash] };
  });
  const unique = subjects.map(([, { text }], index) => ({ hash: hashOf('t0', text), index }));
  const block = { ...(await newBlock(space, records, unique, signal)), receipt: null };
  await pending.writeBlock(block, { account: 'account', signal, seen: () => {} });
}

/** What the table has of a space, with columns and maps that must agree. */
async function storedIn(spaceId: string): Promise<Record<string, Content>> {
  const columns = `_id, t0, n0, _doc, _hashes, toString(_updated_at) AS at`;
  const rows = await db.rows<{
    _id: string;
    t0: string;
    n0: number | null;
    _doc: Record<string, string>;
    _hashes: Record<string, string>;
  }>(table.select(spaceId, { columns }));
  const ids = rows.map(({ _id }) => _id);
  if (new Set(ids).size < ids.length) throw new Error('a record is there twice');
  return Object.fromEntries(
    rows.map(({ _id, t0, n0, _doc, _hashes }) => {
      const inMap = n0 === null ? { t0 } : { t0, n0: String(n0) };
      t.strictSame({ ..._doc }, inMap);
      return [_id, contentOf(t0, n0, _hashes.h0 ?? null)];
    }),
  );
}

const keysOf = async (spaceId: string): Promise<Set<string>> => {
  const sql = `SELECT toString(key) AS key, _id FROM
    (SELECT arrayJoin(_keys) AS key, _id FROM ${database}.records WHERE space = '${spaceId}'
      UNION ALL SELECT key, _id FROM ${database}.record_keys WHERE space = '${spaceId}')`;
  return new Set(
    (await db.rows<{ key: string; _id: string }>({ sql })).map(({ key, _id }) => `${key} ${_id}`),
  );
};

t.test('a write is known at once, and in the table later', async (t) => {
  const directory = newDirectory();
  const pending = await open(directory);
  const [spaceId, subject] = [randomUUID(), new Subject()];
  t.equal(pending.find(spaceId, { id: subject.id }), null);
  let seen = 0;
  const write = subject.write(
    spaceId,
    contentOf(`'"\\ \n \u{1F600}`, -0.5, 'hash'),
    '2026-01-02T03:04:05.678Z',
  );
  await pending.write([write], { account: 'account', signal, seen: () => seen++ });
  t.equal(seen, 1);
  t.strictSame(pending.find(spaceId, { id: subject.id })?.rows, [subject.row]);
  t.strictSame(pending.find(spaceId, { slot: 't0', value: `'"\\ \n \u{1F600}` })?.rows, [subject.row]);
  t.strictSame(await storedIn(spaceId), {});
  await pending.settled(spaceId);
  t.strictSame(await storedIn(spaceId), { [subject.id]: contentOf(`'"\\ \n \u{1F600}`, -0.5, 'hash') });
  t.equal(pending.settled(spaceId), null, 'nothing is left to wait for');
  t.strictSame(await readdir(directory), ['blocks']);
  const [times] = await db.rows<{ _created_at: string; _updated_at: string }>(
    table.select(spaceId, { columns: '_created_at, _updated_at' }),
  );
  t.strictSame(
    { ...times },
    { _created_at: '2026-01-02T03:04:05.678Z', _updated_at: '2026-01-02T03:04:05.678Z' },
  );
  await pending.close();
});

t.test('changes of thousands of records come into the table in one statement', async (t) => {
  const { asked, wrap } = new FaultyDatabase();
  const pending = await open(newDirectory(), { db: wrap(db) });
  const spaceId = randomUUID();
  const subjects = Array.from({ length: 2500 }, () => new Subject());
  const write = (contentOfNumber: (index: number) => Content, at: string) =>
    writeAll(
      pending,
      subjects.map((subject, index) => subject.write(spaceId, contentOfNumber(index), at)),
    );
  await write((index) => contentOf(`first ${index}`, index), '2026-01-01T00:00:00.000Z');
  await pending.settled(spaceId);
  await write(
    (index) => contentOf(`'second' ${index}`, index % 3 === 0 ? null : -index, `hash ${index}`),
    '2026-01-02T00:00:00.000Z',
  );
  await pending.settled(spaceId);
  t.equal(asked.filter(({ verb }) => verb === 'UPDATE').length, 1);
  const stored = await storedIn(spaceId);
  const wanted = subjects.map(({ id, row }, index): [string, Content] => [
    id,
    contentOf(row?._doc.t0 ?? '', index % 3 === 0 ? null : -index, `hash ${index}`),
  ]);
  t.strictSame(stored, Object.fromEntries(wanted));
  await pending.close();
});

t.test('a value that goes to another record is never there twice, nor missing where it was', async (t) => {
  const texts: string[][] = [];
  const spaceId = randomUUID();
  const look = async (): Promise<void> => {
    texts.push(Object.values(await storedIn(spaceId)).map(({ text }) => text));
  };
  const watched: Database = {
    ...db,
    command: (statement) => db.command(statement).finally(look),
    insert: (rows) => db.insert(rows).finally(look),
  };
  const pending = await open(newDirectory(), { db: watched });
  const [old, next, copy] = [new Subject(), new Subject(), new Subject()];
  const at = '2026-01-01T00:00:00.000Z';
  await writeAll(pending, [old.write(spaceId, contentOf('x'), at)]);
  await pending.settled(spaceId);
  texts.length = 0;
  await writeAll(pending, [old.write(spaceId, null, at)]);
  await writeAll(pending, [next.write(spaceId, contentOf('x'), at)]);
  await pending.settled(spaceId);
  t.notOk(
    texts.some(({ length }) => length > 1),
    'removed, and then made again',
  );
  t.strictSame(texts.at(-1), ['x']);
  texts.length = 0;
  await writeAll(pending, [copy.write(spaceId, contentOf('copy of x'), at)]);
  await writeAll(pending, [next.write(spaceId, null, at)]);
  await pending.settled(spaceId);
  t.notOk(
    texts.some(({ length }) => length === 0),
    'copied, and then removed',
  );
  t.strictSame(texts.at(-1), ['copy of x']);
  await pending.close();
});

t.test('blocks are one INSERT, which only reads of their space wait for', async (t) => {
  const { asked, wrap } = new FaultyDatabase();
  const pending = await open(newDirectory(), { db: wrap(db) });
  const [spaceId, other] = [randomUUID(), randomUUID()];
  const at = '2026-01-01T00:00:00.000Z';
  const subjects = Array.from({ length: 500 }, () => new Subject());
  const contents = subjects.map(
    (subject, index) => [subject, contentOf(`\n"${index}" \u{1F600}`, index, `hash ${index}`)] as const,
  );
  t.equal(pending.settledBlocks(spaceId, signal), null);
  await writeAll(pending, [new Subject().write(spaceId, contentOf('early'), at)]);
  t.equal(pending.settledBlocks(spaceId, signal), null, 'other writes are in memory');
  await writeBlock(pending, spaceId, contents.slice(0, 250), at);
  await writeAll(pending, [new Subject().write(other, contentOf('of another space'), at)]);
  await writeBlock(pending, spaceId, contents.slice(250), at);
  asked.length = 0;
  await pending.settled(other);
  t.equal(asked.filter(({ verb }) => verb === 'INSERT').length, 1);
  t.equal(Object.keys(await storedIn(spaceId)).length, 1, 'the blocks are not there yet');
  asked.length = 0;
  await pending.settled(spaceId);
  t.equal(asked.filter(({ verb }) => verb === 'INSERT').length, 1);
  t.equal(pending.settledBlocks(spaceId, signal), null);
  const stored = await storedIn(spaceId);
  t.equal(Object.keys(stored).length, 501);
  for (const [{ id }, content] of contents)
    if (JSON.stringify(stored[id]) !== JSON.stringify(content)) t.strictSame(stored[id], content);
  await pending.close();
});

t.test('a block is all or nothing in the log, and no text of it is read as a line', async (t) => {
  const directory = newDirectory();
  const pending = await open(directory);
  const spaceId = randomUUID();
  const at = '2026-01-01T00:00:00.000Z';
  const line = '\n00000000 []\n';
  const [kept, cut] = [new Subject(), new Subject()];
  await writeBlock(pending, spaceId, [[kept, contentOf(line)]], at);
  await writeBlock(pending, spaceId, [[cut, contentOf('cut off')]], at);
  // killed: not closed
  const [name] = (await readdir(join(directory, 'blocks'))) as [string];
  const path = join(directory, 'blocks', name);
  const bytes = await readFile(path);
  t.equal(bytes.toString('latin1').split('\n').length, 3);
  await writeFile(path, bytes.subarray(0, bytes.byteLength - 2));
  const next = await open(directory);
  t.strictSame(await storedIn(spaceId), { [kept.id]: contentOf(line) });
  await next.close();
});

t.test('it comes into the table by itself', async (t) => {
  const pending = await open(newDirectory(), { times: { flushAfter: 5 } });
  const [spaceId, subject] = [randomUUID(), new Subject()];
  await writeAll(pending, [subject.write(spaceId, contentOf('x'), '2026-01-01T00:00:00.000Z')]);
  while (!((await storedIn(spaceId))[subject.id] !== undefined))
    await new Promise((done) => setTimeout(done, 5));
  t.pass();
  await pending.close();
});

t.test('a table that takes none: they wait, what needs it fails, none is stored twice', async (t) => {
  const directory = newDirectory();
  const faulty = new FaultyDatabase();
  const insertInto =
    (name: string) =>
    ({ verb, table }: Asked) =>
      verb === 'INSERT' && table === name;
  const log = silentLog();
  const pending = await open(directory, { db: faulty.wrap(db), log });
  const [spaceId, subject, second] = [randomUUID(), new Subject(), new Subject()];
  await writeAll(pending, [
    subject.write(spaceId, contentOf('a'), '2026-01-01T00:00:00.000Z'),
    second.write(spaceId, contentOf('b'), '2026-01-01T00:00:00.000Z'),
  ]);
  faulty.fails = insertInto('records');
  await t.rejects(pending.settled(spaceId) as Promise<void>, { message: 'disk full' });
  faulty.fails = () => false;
  faulty.losesAnswer = insertInto('records');
  await t.rejects(pending.settled(spaceId) as Promise<void>, { message: 'the answer is lost' });
  t.match(log.failures.join(), /the table does not take them/);
  t.ok(pending.find(spaceId, { id: subject.id })?.complete);
  faulty.losesAnswer = () => false;
  await writeAll(pending, [subject.write(spaceId, contentOf('c', 2), '2026-01-01T00:00:01.000Z')]);
  await pending.settled(spaceId);
  t.strictSame(await storedIn(spaceId), { [subject.id]: contentOf('c', 2), [second.id]: contentOf('b') });
  await pending.close();
});

t.test('what waits is limited, and an account has half of it', async (t) => {
  const faulty = new FaultyDatabase();
  const { release } = faulty.hold();
  const pending = await open(newDirectory(), {
    db: faulty.wrap(db),
    limits: { pending: 4000, account: 2000 },
  });
  const spaceId = randomUUID();
  const writeBy = (account: string, bySignal = signal) => {
    const write = new Subject().write(spaceId, contentOf('x'.repeat(500)), '2026-01-01T00:00:00.000Z');
    return pending.write([write], { account, signal: bySignal, seen: () => {} });
  };
  const flood = Array.from({ length: 10 }, () => writeBy('greedy'));
  const answered = flood.map((one) => one.then(() => true));
  await writeBy('modest');
  const gone = new AbortController();
  const waiting = writeBy('greedy', gone.signal);
  gone.abort(new Error('client gone'));
  await t.rejects(waiting, { message: 'client gone' });
  const early = await Promise.all(answered.map((one) => Promise.race([one, Promise.resolve(false)])));
  t.ok(early.includes(false), 'the rest of the flood waits');
  release();
  await Promise.all(flood);
  await pending.close();
  t.equal(Object.keys(await storedIn(spaceId)).length, 11);
});

t.test('a log that ends in the middle of a write, and one with a damaged line', async (t) => {
  const directory = newDirectory();
  const pending = await open(directory);
  const spaceId = randomUUID();
  const subjects = [new Subject(), new Subject(), new Subject()] as const;
  for (const [i, subject] of subjects.entries())
    await writeAll(pending, [subject.write(spaceId, contentOf(`v${i}`), '2026-01-01T00:00:00.000Z')]);
  // killed: not closed
  const [name] = (await readdir(directory)) as [string];
  const bytes = await readFile(join(directory, name));
  bytes[bytes.indexOf('v1')] = 0x77;
  await writeFile(join(directory, name), bytes);
  await appendFile(join(directory, name), '0123abcd [{"cut');
  const log = silentLog();
  const next = await open(directory, { log });
  t.match(log.failures.join(), /damaged: it is kept aside/);
  t.strictSame(await storedIn(spaceId), {
    [subjects[0].id]: contentOf('v0'),
    [subjects[2].id]: contentOf('v2'),
  });
  t.match((await readdir(directory)).sort(), [/\.damaged$/, 'blocks']);
  await next.close();
});

interface Step {
  readonly kind: 'write' | 'block' | 'remove' | 'flush' | 'crash';
  readonly subjects: readonly number[];
  readonly content: Content;
  /** Statements until the process dies in its flush. */
  readonly after: number;
}
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'write' as const,
    'write' as const,
    'write' as const,
    'block' as const,
    'block' as const,
    'remove' as const,
    'flush' as const,
    'crash' as const,
  ),
  subjects: fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 4 }),
  content: fc.record({
    text: fc.constantFrom('a', 'b', 'é'),
    number: fc.constantFrom(null, 1, 2.5),
    hash: fc.constantFrom(null, 'h1', 'h2'),
  }),
  after: fc.nat(6),
});

t.test('when a process dies, in a flush too, the next has all that was acknowledged, once', async (t) => {
  const numRuns = Number(process.env.PENDING_RUNS ?? 40);
  let crashes = 0;
  let blocks = 0;
  const run = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
    const [directory, spaceId] = [newDirectory(), randomUUID()];
    let left = Number.POSITIVE_INFINITY;
    const faulty = new FaultyDatabase();
    faulty.fails = () => left-- <= 0;
    const mortal = faulty.wrap(db);
    let pending = await open(directory, { db: mortal });
    const subjects = Array.from({ length: 12 }, () => new Subject());
    const gone = new Set<Subject>();
    let time = Date.parse('2026-01-01T00:00:00.000Z');
    const expected: Record<string, Content> = {};
    for (const { kind, subjects: which, content, after } of steps) {
      const at = new Date(++time).toISOString();
      const chosen = which.map((i) => subjects[i] as Subject).filter((subject) => !gone.has(subject));
      if (kind === 'write') {
        if (chosen.length === 0) continue;
        await writeAll(
          pending,
          chosen.map((subject) => subject.write(spaceId, content, at)),
        );
        for (const { id } of chosen) expected[id] = { ...content };
      } else if (kind === 'block') {
        const made = chosen.filter(({ row }) => row === null);
        if (made.length === 0) continue;
        await writeBlock(
          pending,
          spaceId,
          made.map((subject) => [subject, content]),
          at,
        );
        blocks++;
        for (const { id } of made) expected[id] = { ...content };
      } else if (kind === 'remove') {
        for (const subject of chosen.filter(({ row }) => row !== null)) {
          await writeAll(pending, [subject.write(spaceId, null, at)]);
          delete expected[subject.id];
          gone.add(subject);
        }
      } else if (kind === 'flush') {
        await pending.settled(spaceId);
      } else {
        left = after;
        await pending.settled(spaceId)?.catch(() => {});
        // the next start dies as well, if it comes so far
        left = after;
        await open(directory, { db: mortal }).catch(() => {});
        left = Number.POSITIVE_INFINITY;
        pending = await open(directory, { db: mortal });
        crashes++;
      }
    }
    await pending.settled(spaceId);
    t.strictSame(await storedIn(spaceId), expected);
    const keys = await keysOf(spaceId);
    for (const [id, { text }] of Object.entries(expected)) {
      t.ok(keys.has(`${keyOf('t0', text)} ${id}`));
    }
    await pending.close();
  });
  await fc.assert(run, { seed: 7, numRuns });
  t.ok(crashes > 10, `${crashes} deaths`);
  t.ok(blocks > 20, `${blocks} blocks`);
});
