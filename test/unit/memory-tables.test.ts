/** Which indexes the tables in memory build, and which indexes and tables they drop for others. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { type IndexShape, lookupShape, shapeText } from '#records/memory/index-shape.ts';
import { MemoryTable } from '#records/memory/memory-table.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { RowWriter } from '#records/sql/packed-row.ts';
import type { PackedBlock } from '#records/sql/row-block.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';

const newId = createUuidV7();
const spaceId = 'space';
const time = '2026-01-01T00:00:00.000Z';
const most = 12;
const row = (_id: string, t0: string): StoredRow => ({
  _id,
  _created_at: time,
  _updated_at: time,
  _doc: { t0 },
});

/** Loads a space. False: there was no room, or it was dropped. @param unique slots that it is looked up by */
function load(
  tables: MemoryTables,
  space: string,
  { account = 'owner', records, unique = [] }: { account?: string; records: number; unique?: string[] },
): boolean {
  const into = tables.begin(space, account, unique);
  for (let i = 0; i < records; i++) {
    const id = newId();
    const _doc = { t0: `a${i}`, t1: `b${i}` };
    tables.written(space, id, { _id: id, _created_at: time, _updated_at: time, _doc });
  }
  return into?.end() ?? false;
}

/** Tables that hold a space with records. */
function tablesWith(records: number, unique: string[]): MemoryTables {
  const tables = new MemoryTables(1e9);
  load(tables, spaceId, { records, unique });
  return tables;
}

/** Asks for an index as often as it takes until it is wanted. */
function want(tables: MemoryTables, shape: IndexShape, records: number): void {
  for (let times = 0; times < 2 + records / 5000; times++) tables.missed(spaceId, [shape]);
}

const noMemory = (): never => {
  throw new RangeError('Array buffer allocation failed');
};
const namesOf = (tables: MemoryTables): readonly string[] =>
  tables.find(spaceId)?.indexes.map(shapeText) ?? [];

async function built(tables: MemoryTables, name: string): Promise<void> {
  for (let turn = 0; turn < 10_000 && !namesOf(tables).includes(name); turn++) await nextTurn();
  await nextTurn();
}

t.test('the index of a unique field is not dropped for those that requests want', async (t) => {
  const tables = tablesWith(10, ['t0']);
  const wanted = Array.from({ length: 2 * most }, (_, i) => lookupShape(`n${i}`));
  for (const shape of wanted) want(tables, shape, 10);
  await built(tables, shapeText(wanted[2 * most - 1] as IndexShape));
  t.ok(namesOf(tables).includes(shapeText(lookupShape('t0'))));
  t.equal(namesOf(tables).length, 1 + most);
});

t.test('no index is dropped for one that is there already', async (t) => {
  const records = 40_000;
  const tables = tablesWith(records, []);
  for (let i = 0; i < most - 2; i++) {
    want(tables, lookupShape(`n${i}`), records);
    await built(tables, shapeText(lookupShape(`n${i}`)));
  }
  // while the first is built the other one is wanted twice
  want(tables, lookupShape('t0'), records);
  want(tables, lookupShape('t1'), records);
  want(tables, lookupShape('t1'), records);
  await built(tables, shapeText(lookupShape('t1')));
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  t.equal(namesOf(tables).length, 1 + most);
});

t.test('an index that is wanted again while it waits is built once, and few wait at a time', async (t) => {
  const { hasIndex } = MemoryTable.prototype;
  let asked = 0;
  t.capture(MemoryTable.prototype, 'hasIndex', function (this: MemoryTable, shape: IndexShape) {
    asked++;
    return hasIndex.call(this, shape);
  });
  const tables = tablesWith(10, []);
  for (let times = 0; times < 100; times++) want(tables, lookupShape('n0'), 10);
  await nextTurn();
  t.equal(asked, 2, 'once when it is its turn, and once when it begins');
  asked = 0;
  for (const space of ['a', 'b', 'c']) {
    tables.begin(space, 'owner', [])?.end();
    for (let i = 0; i < 50; i++)
      for (let times = 0; times < 2; times++) tables.missed(space, [lookupShape(`n${i}`)]);
  }
  await nextTurn();
  t.equal(asked, 2 * 100, 'what finds the queue full is wanted again by a later request');
});

t.test('an index that can not be built ends with its table, and others are built', async (t) => {
  const tables = tablesWith(10, []);
  const { restore } = t.capture(MemoryTable.prototype, 'continueIndex', noMemory);
  want(tables, lookupShape('n0'), 10);
  await nextTurn();
  t.notOk(tables.has(spaceId), 'what is half built is not used');
  restore();
  tables.begin(spaceId, 'owner', [])?.end();
  want(tables, lookupShape('n0'), 10);
  await nextTurn();
  t.ok(namesOf(tables).includes(shapeText(lookupShape('n0'))));
});

t.test('a write whose record finds no memory ends the table, and is made', async (t) => {
  const tables = tablesWith(10, []);
  t.capture(MemoryTable.prototype, 'put', noMemory);
  const id = newId();
  tables.written(spaceId, id, { _id: id, _created_at: time, _updated_at: time, _doc: {} });
  t.notOk(tables.has(spaceId));
});

/** Only the columns that tables in memory read. */
function blockOf(rows: readonly StoredRow[]): PackedBlock {
  const writer = new RowWriter();
  const packed = rows.map((each) => Buffer.from(writer.write(each, 1e6) as Buffer));
  const begins = new Uint32Array(packed.length);
  for (let place = 1; place < packed.length; place++)
    begins[place] = (begins[place - 1] as number) + (packed[place - 1] as Buffer).byteLength;
  return { spaceId, columns: [], types: [], rows: Buffer.concat(packed), begins };
}

t.test('what was changed or removed during a large insert is not written over', async (t) => {
  const tables = tablesWith(10, []);
  const rows = [newId(), newId(), newId()].map((_id) => row(_id, 'inserted'));
  const [changed, removed, kept] = rows as [StoredRow, StoredRow, StoredRow];
  await tables.insert(blockOf(rows), async () => {
    tables.written(spaceId, changed._id, row(changed._id, 'changed'));
    tables.written(spaceId, removed._id, null);
  });
  const table = tables.find(spaceId) as MemoryTable;
  const found = [changed, removed, kept].map(({ _id }) => table.get(_id)?._doc.t0);
  t.strictSame(found, ['changed', undefined, 'inserted']);
});

t.test('shapes that were asked for once do not keep others from an index', async (t) => {
  const tables = tablesWith(10, []);
  for (let i = 0; i < 200; i++) tables.missed(spaceId, [lookupShape(`n${i}`)]);
  want(tables, lookupShape('t0'), 10);
  await built(tables, shapeText(lookupShape('t0')));
  t.ok(namesOf(tables).includes(shapeText(lookupShape('t0'))));
});

t.test('the index that was not used for longest makes room for another one', async (t) => {
  const tables = new MemoryTables(1e9, { mostCompared: 0 });
  load(tables, spaceId, { records: 10, unique: [] });
  const build = async (i: number): Promise<void> => {
    want(tables, lookupShape(`n${i}`), 10);
    await built(tables, shapeText(lookupShape(`n${i}`)));
  };
  for (let i = 0; i < most; i++) await build(i);
  const use = (i: number) => t.ok(tables.find(spaceId)?.lookUp(`n${i}`, '1'), `index ${i} serves`);
  for (const used of [1, 0, 2]) use(used);
  await build(most);
  t.equal(tables.find(spaceId)?.lookUp('n3', '1'), null, 'the first of those that nobody used goes');
  for (let i = 4; i < most; i++) use(i);
  await build(most + 1);
  t.equal(tables.find(spaceId)?.lookUp('n1', '1'), null, 'then the one that was used before all others');
  for (const left of [0, 2, most, most + 1]) use(left);
});

/** Records of one table, and the bytes that it takes. */
const records = 200;
const tableBytes = (() => {
  const tables = new MemoryTables(1e9);
  load(tables, spaceId, { records });
  return tables.bytes;
})();
/** Room for so many tables, beside what counts requests. */
const roomFor = (count: number): number => (tableBytes * count * 16) / 15;
const heldOf = (tables: MemoryTables, names: readonly string[]): readonly string[] =>
  names.filter((name) => tables.has(name));
const heavy = Array.from({ length: 10 }, (_, i) => `heavy-${i}`);

/** Time goes on with each look at it. */
function clock(): { now: () => number; wait: (milliseconds: number) => void } {
  let time = 0;
  return {
    now: () => time++,
    wait: (milliseconds) => {
      time += milliseconds;
    },
  };
}

t.test('an account that has more than its share gives way to others, its oldest table first', async (t) => {
  const tables = new MemoryTables(roomFor(10.5), { now: clock().now });
  for (const space of heavy) t.ok(load(tables, space, { account: 'heavy', records }));
  t.ok(tables.find('heavy-0'), 'this one is asked');
  for (let i = 0; i < 5; i++) {
    t.ok(tables.hasRoom('light', tableBytes));
    t.ok(load(tables, `light-${i}`, { account: 'light', records }));
  }
  t.strictSame(heldOf(tables, heavy), ['heavy-0', 'heavy-6', 'heavy-7', 'heavy-8', 'heavy-9']);
  t.notOk(tables.hasRoom('light', tableBytes), 'that is all that another account may take');
});

t.test('a table of an account that has less than its share is not dropped for another one', async (t) => {
  const tables = new MemoryTables(roomFor(4.5), { now: clock().now });
  load(tables, 'light', { account: 'light', records });
  for (const space of heavy) {
    // also where nobody asks for room first
    load(tables, space, { account: 'heavy', records });
    t.ok(tables.has('light'), `beside ${space}`);
    t.ok(tables.bytes <= tableBytes * 4.5);
  }
  t.strictSame(heldOf(tables, heavy), heavy.slice(0, 3), 'what does not fit is not held');
  t.notOk(tables.hasRoom('heavy', tableBytes));
});

t.test('a table that nobody asked for a minute goes first, whoever has it', async (t) => {
  const { now, wait } = clock();
  const tables = new MemoryTables(roomFor(4.5), { now });
  load(tables, 'idle', { account: 'light', records });
  wait(61_000);
  for (const space of heavy.slice(0, 3)) load(tables, space, { account: 'heavy', records });
  t.ok(tables.has('idle'), 'it stays while there is room');
  t.ok(tables.hasRoom('heavy', tableBytes));
  t.ok(load(tables, 'heavy-3', { account: 'heavy', records }));
  t.notOk(tables.has('idle'));
  t.strictSame(heldOf(tables, heavy), heavy.slice(0, 4));
});

t.test('100 accounts that want twice of what there is have their share each', async (t) => {
  const accounts = Array.from({ length: 100 }, (_, i) => `account-${i}`);
  const limit = roomFor(210);
  const tables = new MemoryTables(limit, { now: clock().now });
  const spacesOf = (account: string) => [0, 1, 2, 3].map((i) => `${account} ${i}`);
  const ask = (account: string, space: string): void => {
    if (tables.find(space) !== null || !tables.hasRoom(account, tableBytes)) return;
    load(tables, space, { account, records });
  };
  // the first fifty are there before the others, and take it all
  for (const account of accounts.slice(0, 60)) for (const space of spacesOf(account)) ask(account, space);
  for (let times = 0; times < 3; times++)
    for (const account of accounts) for (const space of spacesOf(account)) ask(account, space);
  const held = accounts.map((account) => heldOf(tables, spacesOf(account)).length);
  t.ok(tables.bytes <= limit);
  t.equal(Math.min(...held), 2, 'a share has room for two tables');
  t.ok(Math.max(...held) <= 3, 'who has more than a share keeps what nobody else may have');
  t.notOk(tables.hasRoom('account-0', limit / 90), 'one table larger than a share has no room');
});
