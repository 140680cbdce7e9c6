/**
 * A query process that is killed at each of its writing statements in turn, before the server has it and when it has run:
 * what was acknowledged is there, what was not is there as a whole or not at all, and the index of values finds the same
 * as a scan.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openAddress } from '../services/clickhouse-address.ts';
import { spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { sendOverHttp } from '../services/send-over-http.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';

const fields = fieldsOf('code TEXT unique, name TEXT, size NUMBER');
/** Smaller spaces are read without the index. */
const filler = Array.from({ length: 1100 }, (_, i) => ({
  code: `filler ${i}`,
  name: `n ${i}`,
  size: 1000 + i,
}));
const writing = /^(?:INSERT INTO|UPDATE|DELETE FROM) ?[^ ]*record/;

interface Row {
  readonly name: string | null;
  readonly size: number | null;
}
/** By code; a row that is null is not there. */
type Rows = ReadonlyMap<string, Row | null>;
type Space = ReturnType<typeof spaceOf>;

/** Writes one after the other, and what each leaves of a run's records. */
const steps: readonly {
  readonly name: string;
  readonly leaves: (rows: Rows, at: (n: number) => string) => Rows;
  readonly send: (space: Space, at: (n: number) => string, id: string) => Promise<{ status: number }>;
}[] = [
  {
    name: 'insertOne',
    leaves: (rows, at) => with_(rows, { [at(0)]: { name: at(0), size: 1 } }),
    send: (space, at) => space.insertOne({ code: at(0), name: at(0), size: 1 }),
  },
  {
    name: 'insert of two',
    leaves: (rows, at) =>
      with_(rows, { [at(1)]: { name: at(0), size: 2 }, [at(2)]: { name: at(2), size: 3 } }),
    send: (space, at) =>
      space.insert([
        { code: at(1), name: at(0), size: 2 },
        { code: at(2), name: at(2), size: 3 },
      ]),
  },
  {
    name: 'updateOneById',
    leaves: (rows, at) => with_(rows, { [at(0)]: { name: at(9), size: 1 } }),
    send: (space, at, id) => space.updateOneById(id, { name: at(9) }),
  },
  {
    name: 'a value that goes to another record',
    leaves: (rows, at) => with_(rows, { [at(0)]: null, [at(3)]: { name: at(9), size: 1 } }),
    send: (space, at, id) => space.updateOneById(id, { code: at(3) }),
  },
  {
    name: 'insert of the value that is free',
    leaves: (rows, at) => with_(rows, { [at(0)]: { name: at(9), size: 9 } }),
    send: (space, at) => space.insertOne({ code: at(0), name: at(9), size: 9 }),
  },
  {
    name: 'deleteOneById',
    leaves: (rows, at) => with_(rows, { [at(3)]: null }),
    send: (space, _at, id) => space.deleteOneById(id),
  },
];

function with_(rows: Rows, changes: Readonly<Record<string, Row | null>>): Rows {
  return new Map([...rows, ...Object.entries(changes)]);
}

t.test('a kill at any statement', { timeout: 600_000 }, async (t) => {
  const clickhouse = await startClickhouse();
  const address = await openAddress(clickhouse.url);
  t.teardown(async () => {
    await address.close();
    await clickhouse.close();
  });
  let sluice: Sluice = await sluiceFor(t, { script: 'query/main.ts', env: { CLICKHOUSE_URL: address.url } });
  const send = sendOverHttp(() => sluice);
  const answered = async (...call: Parameters<typeof send>) =>
    (await send(...call)) ?? { status: 0, code: null, problems: [], body: null, text: '' };
  const space = spaceOf({ call: answered }, 'p', 'kills', fields);
  t.equal((await space.insert(filler)).status, 200);

  const rowsOf = async (run: string): Promise<Rows> => {
    const { body } = await space.find([['size[lt]', '1000']]);
    const all = body as readonly (Row & { readonly code: string })[];
    const own = all.filter(({ code }) => code.startsWith(run));
    return new Map(own.map(({ code, name, size }) => [code, { name, size }]));
  };

  /** Makes the steps until the process is killed; answers whether it was. */
  const killAt = async (statement: number, kind: 'silent' | 'run-silent'): Promise<boolean> => {
    const run = `${kind} ${statement} `;
    const at = (n: number): string => `${run}${n}`;
    address.clear();
    address.struck.clear();
    if (statement > 0)
      address.fault({ match: writing, times: statement, action: { kind: 'delay', milliseconds: 0 } });
    address.fault({ match: writing, action: { kind } });
    let rows: Rows = new Map();
    let after: Rows | null = null;
    let [id, last] = ['', ''];
    for (const step of steps) {
      const next = step.leaves(rows, at);
      const sent = step.send(space, at, id) as Promise<{ status: number; body?: { id?: string } }>;
      let isOver = false;
      const struck = async (): Promise<null> => {
        while (!isOver && !address.struck.has(kind === 'silent' ? 'silent' : 'ran')) await sleep(5);
        return null;
      };
      const answer = await Promise.race([sent, struck()]);
      isOver = true;
      if (answer === null) {
        [after, last] = [next, step.name];
        await sluice.kill();
        await sent;
        break;
      }
      t.equal(answer.status, 200, `${run}${step.name}`);
      if (step.name === 'insertOne') id = answer.body?.id ?? '';
      rows = next;
    }
    if (after !== null) sluice = await sluice.restart();
    const found = await rowsOf(run);
    const present = (some: Rows) => new Map([...some].filter(([, row]) => row !== null).sort());
    const texts = [rows, after ?? rows].map((some) => JSON.stringify([...present(some)]));
    t.ok(texts.includes(JSON.stringify([...present(found)])), `${run}${last}: all of it or nothing`);
    for (const name of Array.from({ length: 10 }, (_, n) => at(n))) {
      for (const field of ['code', 'name'] as const) {
        const { body } = await space.find([[field, name]]);
        const codes = (body as { code: string }[]).map(({ code }) => code).sort();
        const expected = [...found].filter(([code, row]) => (field === 'code' ? code : row?.name) === name);
        t.strictSame(codes, expected.map(([code]) => code).sort(), `${run}${last}: found by ${field}`);
      }
    }
    for (const [code] of found) t.match(await space.insertOne({ code }), { status: 400, code: 'not_unique' });
    return after !== null;
  };

  let kills = 0;
  for (const kind of ['silent', 'run-silent'] as const)
    for (let statement = 0; await killAt(statement, kind); statement++) kills++;
  t.equal(kills, 2 * 8);
  const searches = address.seen.filter(({ statement }) => statement.includes('hasAnyTokens'));
  t.ok(searches.length > 0, 'values are found by the index');
});
