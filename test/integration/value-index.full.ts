/**
 * The index of values as the only way to records: whatever is written in whatever order, a find by a value answers the
 * records that have it now. All values count as rare, and a search without the index fails.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { keyOf } from '#records/sql/record-keys.ts';
import { type QueryHarness, queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { everyValueIsRare } from '../services/rare-values.ts';
import { fieldsOf } from '../services/record-client.ts';
import { sized } from '../services/test-size.ts';

const fields = fieldsOf('name TEXT, size NUMBER, open BOOLEAN, tags ARRAY, home OBJECT, code TEXT unique');
const long = 'x'.repeat(100_000);
const values = {
  name: ['a', 'b', '', "it's", 'Straße', '\\', '%', long],
  size: [0, -0, 1, 0.1, 1e21, 1e308, -5],
  open: [true, false],
  tags: [[], ['a'], [1, 'b']],
  home: [{ a: 1 }, { a: 1, b: [2] }],
};
type Name = keyof typeof values;
const names = Object.keys(values) as Name[];
type Row = Partial<Record<Name | 'code', unknown>>;

/** A search that reads all of a space. */
const scan = /^(?!.*hasAnyTokens).*WHERE .*\b(?:[tnb]\d+|_doc\[[^\]]+\]) (?:=|IN) /s;

/** @param bits of the terms: with few, most values share one with others */
function indexOnly(bits: 4 | 40): (db: Database) => Database {
  const shortened = (sql: string): string =>
    bits === 40
      ? sql
      : sql.replace(/'\\x.(.)(?:\\x..){4}'/g, (_, digit) => String.raw`'\x0${digit}\x00\x00\x00\x00'`);
  const checked = <Statement extends { readonly sql: string }>(statement: Statement): Statement => {
    const sql = shortened(statement.sql);
    // many unique values are looked for in their column, and by the index where that would read too much
    const bound = /max_rows_to_read = \d+(?=, max_bytes_to_read)/;
    if (bound.test(sql)) return { ...statement, sql: sql.replace(bound, 'max_rows_to_read = 1') };
    if (scan.test(sql)) throw new Error(`a scan: ${sql.slice(0, 500)}`);
    return { ...statement, sql };
  };
  return (db) => ({
    ...db,
    rows: async <Result>(statement: Parameters<Database['rows']>[0]) =>
      (everyValueIsRare(statement.sql) as Result[] | null) ?? db.rows(checked(statement)),
    stream: async (statement) => db.stream(checked(statement)),
  });
}

async function open(
  t: Test,
  { bits, singleWriter }: { bits: 4 | 40; singleWriter: boolean },
): Promise<QueryHarness> {
  const harness = await queryHarnessFor(t, {
    singleWriter,
    wrap: indexOnly(bits),
    // rows in memory would answer
    pending: { fewestMisses: 1e9 },
  });
  if (bits === 4) {
    const [{ expression } = { expression: '' }] = await harness.db.rows<{ expression: string }>({
      sql: `SELECT default_expression AS expression FROM system.columns
        WHERE database = '${testDatabase}' AND table = 'records' AND name = '_terms'`,
    });
    const first = 'reinterpretAsUInt8(substring(term, 1, 1))';
    const few = `arrayMap(term -> toFixedString(char(bitAnd(${first}, 15)), 5), ${expression})`;
    await harness.db.command({
      sql: `ALTER TABLE ${testDatabase}.records MODIFY COLUMN _terms Array(FixedString(5)) DEFAULT ${few}`,
    });
  }
  return harness;
}

const pick = fc.nat();
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('insert' as const), seed: pick, count: fc.constantFrom(1, 2, 3, 250) }),
    fc.record({
      do: fc.constantFrom('set' as const, 'unset' as const, 'add' as const),
      seed: pick,
      at: pick,
    }),
    fc.record({ do: fc.constant('swap' as const), seed: pick, at: pick }),
    fc.record({ do: fc.constantFrom('remove' as const, 'clear' as const), seed: pick, at: pick }),
  ),
  { minLength: 4, maxLength: 14 },
);
type Step = Parameters<Parameters<(typeof steps)['map']>[0]>[0][number];

function pickedOf(name: Name, seed: number): unknown {
  return values[name][seed % values[name].length];
}

function rowOf(seed: number, code: string): Row {
  const some = names.filter((_, at) => ((seed >> at) & 3) !== 0);
  return { ...Object.fromEntries(some.map((name, at) => [name, pickedOf(name, seed + at)])), code };
}

class Model {
  readonly rows = new Map<string, Row>();
  #codes = 0;
  readonly #space: ReturnType<typeof spaceOf>;

  constructor(space: ReturnType<typeof spaceOf>) {
    this.#space = space;
  }

  async run(step: Step): Promise<void> {
    const space = this.#space;
    if (step.do === 'clear') {
      if (step.at % 3 !== 0) return;
      await space.clear();
      return this.rows.clear();
    }
    if (step.do === 'insert') {
      const rows = Array.from({ length: step.count }, (_, i) =>
        rowOf(step.seed + i, `code ${this.#codes++}`),
      );
      const { body, status } = await space.insert(rows);
      if (status !== 200) throw new Error(JSON.stringify(body));
      for (const [at, { id }] of (body as { id: string }[]).entries()) this.rows.set(id, rows[at] as Row);
      return;
    }
    const ids = [...this.rows.keys()];
    const id = ids[step.at % ids.length];
    if (id === undefined) return;
    const row = this.rows.get(id) as Row;
    if (step.do === 'remove') {
      await space.deleteOneById(id);
      this.rows.delete(id);
    } else if (step.do === 'swap') {
      // a unique value is freed, and another record takes it
      const other = ids[(step.at + 1) % ids.length] as string;
      const { code } = row;
      await this.#set(id, { code: `code ${this.#codes++}` });
      if (other !== id) await this.#set(other, { code });
    } else {
      const name = names[step.seed % names.length] as Name;
      if (step.do === 'add') {
        const size = row.size as number | undefined;
        if (Math.abs(size ?? 0) > 1e20) return;
        await this.#set(id, { size: { $inc: 2 } }, { size: (size ?? 0) + 2 });
      } else await this.#set(id, { [name]: step.do === 'unset' ? null : pickedOf(name, step.seed >> 3) });
    }
  }

  async #set(id: string, change: object, after: Row = change): Promise<void> {
    const { status, body } = await this.#space.updateOneById(id, change);
    if (status !== 200) throw new Error(JSON.stringify(body));
    const row = { ...this.rows.get(id), ...after };
    for (const name of Object.keys(row) as Name[]) if (row[name] === null) delete row[name];
    this.rows.set(id, row);
  }

  /** Every find answers the records of the model. */
  async check(t: Test, note: string): Promise<void> {
    const asked: { where: Row; ids: readonly string[] }[] = [];
    const sizes = [...new Set([...values.size, ...[...this.rows.values()].map(({ size }) => size)])];
    for (const name of names) {
      for (const value of name === 'size' ? sizes : values[name])
        if (value !== undefined)
          asked.push({ where: { [name]: value }, ids: this.#idsWith({ [name]: value }) });
    }
    for (const row of [...this.rows.values()].slice(0, 5)) {
      const { name, code } = row;
      asked.push({ where: { code }, ids: this.#idsWith({ code }) });
      if (name !== undefined) asked.push({ where: { name, code }, ids: this.#idsWith({ name, code }) });
    }
    const answers = await Promise.all(asked.map(({ where }) => this.#find(where)));
    for (const [at, { where, ids }] of asked.entries()) {
      const [found, shown] = [answers[at] as string[], JSON.stringify(where).slice(0, 100)];
      if (found.join() !== [...ids].sort().join())
        t.fail(`${note}: ${shown}: ${found.length} of ${ids.length}`);
    }
    const [{ where, ids }] = asked as [(typeof asked)[0]];
    const { body } = await this.#ask('/_count_', where);
    t.strictSame(body, { count: ids.length }, `${note}: a count`);
  }

  #idsWith(where: Row): string[] {
    const isSame = (row: Row): boolean =>
      Object.entries(where).every(
        ([name, value]) => row[name as Name] !== undefined && same(row[name as Name], value),
      );
    return [...this.rows].filter(([, row]) => isSame(row)).map(([id]) => id);
  }

  async #find(where: Row): Promise<string[]> {
    const { body, status } = await this.#ask('', where);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return (body as { id: string }[]).map(({ id }) => id).sort();
  }

  #ask(path: string, body: Row) {
    const { structure } = this.#space;
    return harnessOf.get(this.#space)?.call({
      method: 'QUERY',
      path: `${this.#space.path}${path}`,
      structure,
      body,
    }) as ReturnType<QueryHarness['call']>;
  }
}
const harnessOf = new WeakMap<object, QueryHarness>();

/** As the service compares: numbers by their value, arrays and objects by their JSON. */
function same(one: unknown, other: unknown): boolean {
  return typeof one === 'number' ? one === other : JSON.stringify(one) === JSON.stringify(other);
}

for (const { bits, singleWriter, merges } of [
  { bits: 40, singleWriter: false, merges: true },
  { bits: 40, singleWriter: true, merges: false },
  { bits: 4, singleWriter: false, merges: false },
  { bits: 4, singleWriter: true, merges: true },
] as const) {
  const title = `${singleWriter ? 'one process' : 'one of several'}, terms of ${bits} bits, ${merges ? '' : 'nothing '}merged`;
  t.test(title, async (t) => {
    const harness = await open(t, { bits, singleWriter });
    if (!merges) await harness.db.command({ sql: `SYSTEM STOP MERGES ${testDatabase}.records` });
    let number = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const space = spaceOf(harness, 'p', `s${number++}`, fields);
        harnessOf.set(space, harness);
        const model = new Model(space);
        for (const [at, step] of all.entries()) {
          await model.run(step);
          if (at % 4 === 3 || at === all.length - 1) await model.check(t, `${at} ${step.do}`);
        }
        if (merges) await harness.db.command({ sql: `OPTIMIZE TABLE ${testDatabase}.records FINAL` });
        await model.check(t, 'at the end');
      }),
      { numRuns: sized(30, 4), endOnFailure: true },
    );
  });
}

for (const singleWriter of [true, false]) {
  const where = singleWriter ? 'one process' : 'one of several';
  t.test(`records of 300 fields, and of a megabyte: ${where}`, async (t) => {
    const harness = await open(t, { bits: 40, singleWriter });
    const many = spaceOf(
      ...([harness, 'p', 'many'] as const),
      fieldsOf(Array.from({ length: 300 }, (_, i) => `f${i} ${i % 2 ? 'NUMBER' : 'TEXT'}`).join(', ')),
    );
    const record = (of: number) =>
      Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i % 2 ? of + i : `${of} ${i}`]));
    const { body } = await many.insert([record(0), record(1000), record(2000)]);
    const ids = (body as { id: string }[]).map(({ id }) => id);
    const find = async (name: string, value: unknown) => {
      const answer = await harness.call({
        method: 'QUERY',
        path: many.path,
        structure: many.structure,
        body: { [name]: value },
      });
      return (answer.body as { id: string }[]).map(({ id }) => ids.indexOf(id));
    };
    for (const i of [0, 1, 48, 49, 150, 151, 298, 299])
      t.strictSame(await find(`f${i}`, i % 2 ? 1000 + i : `1000 ${i}`), [1], `f${i}`);
    await many.updateOneById(ids[1] as string, { ...record(3000), f298: null });
    for (const i of [0, 1, 150, 151, 299]) {
      t.strictSame(await find(`f${i}`, i % 2 ? 1000 + i : `1000 ${i}`), [], `f${i} as it was`);
      t.strictSame(await find(`f${i}`, i % 2 ? 3000 + i : `3000 ${i}`), [1], `f${i} as it is`);
    }
    t.strictSame(await find('f298', '1000 298'), []);
    const large = ['x', 'y'].map((end) => 'a'.repeat(1_000_000) + end);
    const texts = spaceOf(harness, 'p', 'large', fieldsOf('text TEXT'));
    const made = await texts.insert([{ text: large[0] }, { text: 'short' }]);
    ids.splice(0, 3, ...(made.body as { id: string }[]).map(({ id }) => id));
    const findText = async (text: unknown) => {
      const answer = await harness.call({
        method: 'QUERY',
        path: texts.path,
        structure: texts.structure,
        body: { text },
      });
      return (answer.body as { id: string }[]).map(({ id }) => ids.indexOf(id));
    };
    t.strictSame(await findText(large[0]), [0]);
    t.strictSame(await findText(large[1]), []);
    await texts.updateOneById(ids[1] as string, { text: large[1] });
    t.strictSame(await findText(large[1]), [1]);
    t.strictSame(await findText('short'), []);
  });

  t.test(`a field that gets another type: ${where}`, async (t) => {
    const harness = await open(t, { bits: 40, singleWriter });
    const slug = 'typed';
    const numbers = spaceOf(harness, 'p', slug, fieldsOf('size NUMBER, name TEXT'));
    await numbers.insert([1, 2.5, -3, 2.5].map((size, i) => ({ size, name: `n${i}` })));
    const { body } = await numbers.find([['name', 'n3']]);
    await numbers.updateOneById(body[0].id, { size: 7 });
    const texts = spaceOf(harness, 'p', slug, fieldsOf('size TEXT, name TEXT'));
    t.equal((await texts.insert([{ size: 'x', name: 'n4' }])).status, 200);
    const namesOf = async (size: string) =>
      ((await texts.find([['size', size]])).body as { name: string }[]).map(({ name }) => name).sort();
    const expected = { 1: ['n0'], 2.5: ['n1'], '-3': ['n2'], 7: ['n3'], x: ['n4'] };
    for (const [size, found] of Object.entries(expected)) t.strictSame(await namesOf(size), found, size);
  });
}

t.test('a find sees the keys of all updates that it sees', async (t) => {
  const harness = await queryHarnessFor(t, { singleWriter: false });
  const { db } = harness;
  const { table } = harness.store;
  const insert = (name: string, row: object): Promise<void> =>
    db.insert({ table: `${testDatabase}.${name}`, lines: Buffer.from(`${JSON.stringify(row)}\n`) });
  for (const after of [200, 600]) {
    const space = randomUUID();
    await insert('records', { space, _id: 'updated', _doc: { t0: 'before' } });
    const wanted = [{ spaceId: space, slot: 't0', value: 'new' }];
    const { sql } = table.selectByValues(wanted, '_id');
    // the engine pauses when it takes the state of a table
    const slow = `SELECT _id FROM (${sql}) ORDER BY _id SETTINGS merge_tree_storage_snapshot_sleep_ms = 400`;
    const found = db.rows<{ _id: string }>({ sql: slow });
    await sleep(after);
    await insert('record_keys', { space, key: keyOf('t0', 'new'), _id: 'updated' });
    await insert('records', { space, _id: 'inserted', _doc: { t0: 'new' } });
    const ids = (await found).map(({ _id }) => _id);
    // whoever sees the later INSERT sees the earlier key
    t.ok(ids.includes('updated') || !ids.includes('inserted'), ids.join());
  }
});
