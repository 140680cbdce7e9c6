/** A process that dies at any statement of a change of types: the next one finds all values, and goes on. */
import t from 'tap';
import type { Database } from '#engine/database.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';

const structure = (type: string): string =>
  structureOf('p', 's', [
    { name: 'a', type, unique: true },
    { name: 'b', type: 'TEXT' },
  ]);
const wanted = [
  { a: 1, b: 'x' },
  { a: -2.5, b: null },
  { a: 1e21, b: 'y' },
];
const texts = wanted.map(({ a, b }) => ({ a: String(a), b }));

/** An engine that runs some statements more, and from then on none: as far as the process knows, which is dead then. */
class Cut {
  readonly #dead = new WeakSet<Database>();
  /** Infinite again when it has died, for the next one. */
  left = Number.POSITIVE_INFINITY;
  /** Whether the engine still does the last one. */
  lastIsDone = false;

  wrap = (db: Database): Database => {
    const cut = async <Result>(run: () => Promise<Result>): Promise<Result> => {
      if (this.#dead.has(db)) throw new Error('cut off');
      if (--this.left > 0) return run();
      this.#dead.add(db);
      this.left = Number.POSITIVE_INFINITY;
      if (this.lastIsDone) await run();
      throw new Error('cut off');
    };
    return {
      ...db,
      command: (statement) => cut(() => db.command(statement)),
      rows: (statement) => cut(() => db.rows(statement)),
      stream: (statement) => cut(() => db.stream(statement)),
      insert: (statement) => cut(() => db.insert(statement)),
    };
  };
}

for (const lastIsDone of [false, true]) {
  t.test(`at each statement, which is ${lastIsDone ? 'done' : 'not done'}`, async (t) => {
    const cut = new Cut();
    const forever = Number.POSITIVE_INFINITY;
    const harness = await queryHarnessFor(t, {
      wrap: cut.wrap,
      freshness: { freshFor: forever, staleAfter: forever, outdatedAfter: 0 },
    });
    let answered = false;
    let cuts = 0;
    for (let statements = 1; !answered; statements++) {
      const [text, number] = [structure('TEXT'), structure('NUMBER')].map((one) =>
        spaceOf(harness, 'p', 's', one),
      ) as [ReturnType<typeof spaceOf>, ReturnType<typeof spaceOf>];
      t.equal((await text.make()).status, 200);
      await text.clear();
      await text.insert(texts);
      cut.left = statements;
      cut.lastIsDone = lastIsDone;
      answered = await number.make().then(
        ({ status }) => status === 200,
        () => false,
      );
      if (!answered) cuts++;
      cut.left = forever;
      await harness.restart();
      const stored = { path: '/p/s', headers: { 'use-pre-stored-structure': 'true' } };
      const { body } = await harness.call(stored);
      const found = body.map(({ a, b }: { a: unknown; b: unknown }) => ({ a, b }));
      t.strictSame(found, typeof found[0].a === 'number' ? wanted : texts, `after ${statements}`);
      const write = await harness.call({ ...stored, path: '/p/s/_single_', body: { b: 'z' } });
      t.equal(write.status, 200, 'writes go on');
      t.match((await number.find()).body, wanted, 'and it can be done again');
      t.match(await number.insertOne({ a: 1 }), { status: 400, code: 'not_unique' });
      t.match((await number.find('a=-2.5')).body, [{ a: -2.5 }]);
    }
    t.ok(cuts >= 5, `${cuts} cuts`);
  });
}
