/** Which indexes the tables in memory build, and which they drop for them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { createUuidV7 } from '../../common/metadata/uuid-v7.ts';
import { type IndexShape, lookupShape, shapeText } from '../../query/memory/index-shape.ts';
import { MemoryTable } from '../../query/memory/memory-table.ts';
import { MemoryTables } from '../../query/memory/memory-tables.ts';

const newId = createUuidV7();
const spaceId = 'space';
const time = '2026-01-01T00:00:00.000Z';
const most = 12;

/** Tables that hold a space with records. @param unique slots that it is looked up by */
function tablesWith(records: number, unique: readonly string[]): MemoryTables {
  const tables = new MemoryTables(1e9);
  const load = tables.begin(spaceId, 'owner', unique);
  for (let i = 0; i < records; i++) {
    const id = newId();
    const _doc = { t0: `a${i}`, t1: `b${i}` };
    tables.written(spaceId, id, { _id: id, _created_at: time, _updated_at: time, _doc });
  }
  load?.end();
  return tables;
}

/** Asks for an index as often as it takes until it is wanted. */
function want(tables: MemoryTables, shape: IndexShape, records: number): void {
  for (let times = 0; times < 2 + records / 5000; times++) tables.missed(spaceId, [shape]);
}

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
  MemoryTable.prototype.hasIndex = function (shape) {
    asked++;
    return hasIndex.call(this, shape);
  };
  t.teardown(() => {
    MemoryTable.prototype.hasIndex = hasIndex;
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
  const { continueIndex } = MemoryTable.prototype;
  MemoryTable.prototype.continueIndex = () => {
    throw new RangeError('Array buffer allocation failed');
  };
  t.teardown(() => {
    MemoryTable.prototype.continueIndex = continueIndex;
  });
  want(tables, lookupShape('n0'), 10);
  await nextTurn();
  t.notOk(tables.has(spaceId), 'what is half built is not used');
  MemoryTable.prototype.continueIndex = continueIndex;
  tables.begin(spaceId, 'owner', [])?.end();
  want(tables, lookupShape('n0'), 10);
  await nextTurn();
  t.ok(namesOf(tables).includes(shapeText(lookupShape('n0'))));
});

t.test('a write whose record finds no memory ends the table, and is made', async (t) => {
  const tables = tablesWith(10, []);
  const { put } = MemoryTable.prototype;
  MemoryTable.prototype.put = () => {
    throw new RangeError('Array buffer allocation failed');
  };
  t.teardown(() => {
    MemoryTable.prototype.put = put;
  });
  const id = newId();
  tables.written(spaceId, id, { _id: id, _created_at: time, _updated_at: time, _doc: {} });
  t.notOk(tables.has(spaceId));
});

t.test('shapes that were asked for once do not keep others from an index', async (t) => {
  const tables = tablesWith(10, []);
  for (let i = 0; i < 200; i++) tables.missed(spaceId, [lookupShape(`n${i}`)]);
  want(tables, lookupShape('t0'), 10);
  await built(tables, shapeText(lookupShape('t0')));
  t.ok(namesOf(tables).includes(shapeText(lookupShape('t0'))));
});
