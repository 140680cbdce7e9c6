/** Finds that share statements: each has its own records, and an expensive one holds up nobody else. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { equals } from '#records/input/parse-conditions.ts';
import { SharedReads } from '#records/store/shared-reads.ts';
import { StoreFind } from '#records/store/store-find.ts';
import type { Field } from '#records/structure/field.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const structure = storedStructure([
  { name: 'name', type: 'TEXT' },
  { name: 'age', type: 'NUMBER' },
]);
const [name, age] = structure.fields as [Field, Field];
const { signal } = new AbortController();
const newId = createUuidV7();
const newSpace = (): RecordSpace => spaceWith(structure, { id: randomUUID() });

type Values = Partial<Record<'name' | 'age', string | number>>;

function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

class NamesFind extends StoreFind {
  constructor(space: RecordSpace, values: Values) {
    const plain = Object.entries(values).map(([of, value]) => equals(of === 'name' ? name : age, value));
    const conditions = { relationship: 'And' as const, plain, others: [], hashed: [] };
    super(space, { conditions, sort: null, page: null }, signal);
  }

  /** @returns names of the records that have the values, or what `unshared` gives where the find shares no statement */
  async answer(reads: SharedReads, unshared: () => Promise<string>): Promise<string> {
    try {
      const found = await reads.find(this);
      return found === null ? await unshared() : found.map(({ _doc }) => _doc.t0).join();
    } finally {
      this.end();
    }
  }
}

/** Reads of an engine with spaces. @param isHeld statements that wait until they are released */
async function open(t: Test, isHeld: (sql: string) => boolean = () => false) {
  const { db, database } = await openMigratedChdb(t);
  const statements: string[] = [];
  const held = gate();
  const holding: Database = {
    ...db,
    async stream(statement) {
      statements.push(statement.sql);
      if (isHeld(statement.sql)) await held.opened;
      return db.stream(statement);
    },
  };
  const reads = new SharedReads({ db: holding, database, metrics: unmeasured });
  const find = (space: RecordSpace, values: Values, unshared = async () => 'alone'): Promise<string> =>
    new NamesFind(space, values).answer(reads, unshared);
  return {
    /** Of several finds each. */
    statements,
    release: held.open,
    find,
    /** A find without records, whose own statement lasts until the returned function is called. */
    occupy(space: RecordSpace): () => Promise<string> {
      const end = gate();
      const found = find(space, { name: 'nobody' }, () => end.opened.then(() => ''));
      return () => {
        end.open();
        return found;
      };
    },
    async store(space: RecordSpace, records: readonly Values[]): Promise<void> {
      const at = '2026-01-01 00:00:00.000';
      const rows = records.map(({ name: t0, age: n0 }) => {
        const _doc = { t0, n0: n0 === undefined ? undefined : String(n0) };
        return JSON.stringify({
          space: space.id,
          _id: newId(),
          _created_at: at,
          _updated_at: at,
          t0,
          n0,
          _doc,
        });
      });
      await db.command({ sql: `INSERT INTO ${database}.records FORMAT JSONEachRow ${rows.join('\n')}` });
    },
  };
}

const four = [0, 1, 2, 3].map((i) => ({ name: `n${i}`, age: i }));

t.test(
  'finds that take long hold up others of their space for a moment, and other spaces never',
  async (t) => {
    const [busy, other] = [newSpace(), newSpace()];
    const engine = await open(t, (sql) => sql.includes(busy.id) && sql.includes('t0 IN'));
    for (const space of [busy, other]) await engine.store(space, four);
    const one = (i: number) => async () => `n${i}`;
    const others = async (): Promise<void> => {
      const found = [1, 2, 3].flatMap((i) => [
        engine.find(busy, { age: i }, one(i)),
        engine.find(other, { name: `n${i}` }, one(i)),
      ]);
      t.strictSame(await Promise.all(found), ['n1', 'n1', 'n2', 'n2', 'n3', 'n3']);
    };
    const end = engine.occupy(busy);
    let isDone = false;
    const later = Promise.all([1, 2, 3].map((i) => engine.find(busy, { name: `n${i}` }, one(i)))).finally(
      () => {
        isDone = true;
      },
    );
    await others();
    await end();
    await others();
    const held = engine.statements.filter((sql) => sql.includes(busy.id) && sql.includes('t0 IN'));
    t.equal(held.length, 1, 'a statement of several is held');
    t.notOk(isDone);
    engine.release();
    t.strictSame(await later, ['n1', 'n2', 'n3']);
  },
);

t.test('finds that compare different fields share a statement, and each has its own records', async (t) => {
  const [space, engine] = [newSpace(), await open(t)];
  await engine.store(space, [
    ...four,
    { name: 'n1', age: 7 },
    { name: 'no age' },
    { age: 3 },
    { name: 'n1' },
  ]);
  const end = engine.occupy(space);
  const asked: readonly (readonly [Values, string])[] = [
    [{ name: 'n1' }, 'n1,n1,n1'],
    [{ age: 1 }, 'n1'],
    [{ age: 3 }, 'n3,'],
    [{ name: 'n1', age: 7 }, 'n1'],
    [{ age: 7, name: 'n1' }, 'n1'],
    [{ name: 'n1', age: 8 }, ''],
    // of a record without a name it is none
    [{ name: 'undefined' }, ''],
    [{ name: 'undefined', age: 3 }, ''],
    ...Array.from({ length: 40 }, (_, i) => [{ name: `n${i % 4}`, age: i }, i < 4 ? `n${i}` : ''] as const),
  ];
  const found = Promise.all(asked.map(([values]) => engine.find(space, values)));
  await end();
  t.strictSame(
    await found,
    asked.map(([, names]) => names),
  );
  t.equal(engine.statements.length, 1);
});

t.test(
  'where finds of several fields have too many records together, those of the same fields share',
  async (t) => {
    const [space, engine] = [newSpace(), await open(t)];
    // a value that fewer have is found by the index
    const five = Array.from({ length: 5 }, () => four).flat();
    const named = (i: number): string => Array.from({ length: 5 }, () => `n${i}`).join();
    await engine.store(space, [...five, ...Array.from({ length: 6500 }, () => ({ name: 'many', age: 50 }))]);
    const ask = async (): Promise<readonly string[]> => {
      const end = engine.occupy(space);
      const found = [1, 2, 3].flatMap((i) => [
        engine.find(space, { age: i }, async () => named(i)),
        engine.find(space, { name: `n${i}` }, async () => named(i)),
      ]);
      const many = engine.find(space, { age: 50 }, async () => 'many, alone');
      await end();
      return Promise.all([...found, many]);
    };
    const answers = [...[1, 1, 2, 2, 3, 3].map(named), 'many, alone'];
    t.strictSame(await ask(), answers);
    t.equal(engine.statements.splice(0).filter((sql) => sql.includes(' OR ')).length, 1);
    t.strictSame(await ask(), answers);
    t.equal(engine.statements.filter((sql) => sql.includes(' OR ')).length, 0);
  },
);
