import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { rejectionOf } from '../services/rejection-of.ts';

const hostile = [
  ...['', '\0', '\u2028\u2029', "'; DROP TABLE contract.texts; --", '\\', "\\'", '`"$x?{y:String}'],
  ...['\r\n__exception__\r\n', '\t\n\r\b\f', '🦜 ünïcödé \u0301', '%00%27+&=;#', 'FORMAT Null', '{{x}}'],
];

/** What every `Database` does. @param open gives one on an engine of its own, empty */
export function databaseContract(t: Test, open: (t: Test) => Promise<Database>): void {
  const begin = async (t: Test): Promise<Database> => {
    const db = await open(t);
    await db.command({ sql: 'CREATE DATABASE IF NOT EXISTS contract' });
    return db;
  };

  t.test('rows have the values that were stored, of every type', async (t) => {
    const db = await begin(t);
    await db.command({
      sql: `CREATE TABLE contract.types (n Nullable(Float64), s Nullable(String), b Nullable(Bool),
       at DateTime64(3, 'UTC'), big UInt64) ENGINE = MergeTree ORDER BY tuple()`,
    });
    const rows = [
      [0.1, 'text', true, '2026-01-02 03:04:05.678', 9007199254740991],
      [-0, '', false, '1970-01-01 00:00:00.000', 0],
      [1.7976931348623157e308, null, null, '2026-01-02 03:04:05.000', 1],
      [null, 'a/b', null, '2026-01-02 03:04:05.100', 2],
    ];
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    await db.insert({
      table: 'contract.types',
      columns: ['n', 's', 'b', 'at', 'big'],
      lines: Buffer.from(lines),
    });
    t.strictSame(await db.rows({ sql: 'SELECT n, s, b, at, big FROM contract.types ORDER BY big DESC' }), [
      { n: 0.1, s: 'text', b: true, at: '2026-01-02T03:04:05.678Z', big: 9007199254740991 },
      { n: null, s: 'a/b', b: null, at: '2026-01-02T03:04:05.100Z', big: 2 },
      { n: 1.7976931348623157e308, s: null, b: null, at: '2026-01-02T03:04:05.000Z', big: 1 },
      { n: 0, s: '', b: false, at: '1970-01-01T00:00:00.000Z', big: 0 },
    ]);
    t.strictSame(await db.rows({ sql: 'SELECT n FROM contract.types WHERE big > 9e18' }), []);
  });

  t.test('any text comes back, by insert and by literal', async (t) => {
    const db = await begin(t);
    await db.command({
      sql: 'CREATE TABLE contract.texts (i UInt32, s String) ENGINE = MergeTree ORDER BY i',
    });
    const lines = hostile.map((text, i) => `${JSON.stringify([i, text])}\n`).join('');
    await db.insert({ table: 'contract.texts', columns: ['i', 's'], lines: Buffer.from(lines) });
    const values = hostile.map((text, i) => `(${i + 1000}, ${textLiteral(text)})`).join(', ');
    await db.command({ sql: `INSERT INTO contract.texts VALUES ${values}` });
    const rows = await db.rows<{ s: string }>({ sql: 'SELECT s FROM contract.texts ORDER BY i' });
    t.strictSame(
      rows.map(({ s }) => s),
      [...hostile, ...hostile],
    );
    for (const [number, text] of hostile.entries()) {
      const found = await db.rows({ sql: `SELECT 1 FROM contract.texts WHERE s = ${textLiteral(text)}` });
      t.equal(found.length, 2, `text ${number}`);
    }
    const stream = await db.stream({
      sql: 'SELECT toJSONString(s) FROM contract.texts ORDER BY i',
      format: 'TSVRaw',
    });
    const streamed = (await textOf(stream)).trimEnd().split('\n');
    t.strictSame(
      streamed.map((line) => JSON.parse(line) as string),
      [...hostile, ...hostile],
    );
  });

  t.test('values and statements of many megabytes', async (t) => {
    const db = await begin(t);
    await db.command({ sql: 'CREATE TABLE contract.big (i UInt32, s String) ENGINE = MergeTree ORDER BY i' });
    const text = 'ä"\\\n'.repeat(1_500_000);
    await db.insert({
      table: 'contract.big',
      columns: ['i', 's'],
      lines: Buffer.from(`${JSON.stringify([1, text])}\n`),
    });
    await db.command({ sql: `INSERT INTO contract.big VALUES (2, ${textLiteral(text)})` });
    const rows = await db.rows<{ s: string }>({
      sql: `SELECT s FROM contract.big WHERE s = ${textLiteral(text)} ORDER BY i`,
    });
    t.equal(rows.length, 2);
    t.ok(rows.every(({ s }) => s === text));
  });

  t.test("statements that fail reject with the engine's words, and the database goes on", async (t) => {
    const db = await begin(t);
    const failures: [string, () => Promise<unknown>, RegExp][] = [
      ['rows', () => db.rows({ sql: 'SELECT nothing_here' }), /nothing_here/],
      ['command', () => db.command({ sql: 'DROP TABLE contract.nothing_here' }), /nothing_here/],
      ['syntax', () => db.command({ sql: 'DROP OR MAKE TABLE x' }), /Syntax error/],
      [
        'stream',
        () => db.stream({ sql: 'SELECT * FROM contract.nothing_here', format: 'TSVRaw' }),
        /nothing_here/,
      ],
      [
        'stream, at its first row',
        () => db.stream({ sql: 'SELECT throwIf(1)', format: 'TSVRaw' }),
        /throwIf/,
      ],
      [
        'rows, late',
        () => db.rows({ sql: 'SELECT throwIf(number = 200000) FROM numbers(300000)' }),
        /throwIf/,
      ],
      [
        'insert',
        () => db.insert({ table: 'contract.nothing_here', columns: ['i'], lines: Buffer.from('[1]\n') }),
        /nothing_here/,
      ],
    ];
    for (const [name, work, expected] of failures) {
      const error = await rejectionOf(work());
      t.match(error.message, expected, name);
      t.not(error.name, 'ApiError', name);
      t.strictSame(await db.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }], `after ${name}`);
    }
  });

  t.test('what a failed statement had put out is in no other result', async (t) => {
    const db = await begin(t);
    const failing = 'SELECT throwIf(number = 200000) AS leaked FROM numbers(300000)';
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 4 }, () => rejectionOf(db.rows({ sql: failing }))));
      const results = await Promise.all(
        Array.from({ length: 20 }, () => db.rows<object>({ sql: 'SELECT 1 AS one' })),
      );
      for (const rows of results) t.strictSame([rows.length, rows[0]], [1, { one: 1 }]);
    }
  });

  t.test('a stream that the engine fails in its middle throws instead of ending', async (t) => {
    const db = await begin(t);
    const sql = 'SELECT number, throwIf(number = 400000) FROM numbers(500000) ORDER BY number';
    const stream = await db.stream({ sql, format: 'TSVRaw' });
    let text = '';
    const error = await rejectionOf(
      (async () => {
        for await (const chunk of stream) text += Buffer.from(chunk).toString('latin1');
      })(),
    );
    t.match(error.message, /throwIf/);
    t.ok(text.length > 100_000, 'it did begin');
    t.notOk(/exception/i.test(text), 'the message is not among the data');
    t.strictSame(await db.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
  });

  t.test('a stream is as fast as its reader, and whole', async (t) => {
    const db = await begin(t);
    const rows = 400_000;
    const stream = await db.stream({
      sql: `SELECT number, repeat('x', 50) FROM numbers(${rows})`,
      format: 'TSVRaw',
    });
    const hash = { lines: 0, sum: 0, rest: '' };
    let chunks = 0;
    for await (const chunk of stream) {
      if (chunks++ % 20 === 0) await delay(5);
      const parts = (hash.rest + Buffer.from(chunk).toString('latin1')).split('\n');
      hash.rest = parts.pop() as string;
      for (const line of parts) {
        hash.lines++;
        hash.sum += Number.parseInt(line, 10);
      }
    }
    t.strictSame(hash, { lines: rows, sum: (rows * (rows - 1)) / 2, rest: '' });
    t.equal(await textOf(await db.stream({ sql: 'SELECT 1 WHERE 0', format: 'TSVRaw' })), '');
  });

  t.test('a result of few rows is the same, whatever their size', async (t) => {
    const db = await begin(t);
    const read = async (columns: string, rows: number): Promise<string> => {
      const sql = `SELECT ${columns} FROM numbers(${rows}) ORDER BY number`;
      return textOf(await db.stream({ sql, format: 'TSVRaw', fewRows: true, account: 'a' }));
    };
    t.equal(await read('number', 3), '0\n1\n2\n');
    t.equal(await read('number', 0), '');
    const large = (number: number): string => `${String(number).repeat(100_000)}\n`;
    const expected = Array.from({ length: 30 }, (_, i) => large(i)).join('');
    t.ok((await read('repeat(toString(number), 100000)', 30)) === expected, 'records of 100 KB');
    await t.rejects(read('nothing', 1), 'a statement that fails');
    t.equal(await read('number', 1), '0\n', 'and nothing of it comes with the next');
  });

  t.test('a stream that is left early, or never begun, gives its place back', async (t) => {
    const db = await begin(t);
    for (let round = 0; round < 40; round++) {
      const stream = await db.stream({ sql: 'SELECT number FROM numbers(200000)', format: 'TSVRaw' });
      for await (const chunk of stream) {
        t.ok(chunk.byteLength > 0);
        break;
      }
    }
    for (let round = 0; round < 40; round++) {
      const controller = new AbortController();
      await db.stream({
        sql: 'SELECT number FROM numbers(200000)',
        format: 'TSVRaw',
        signal: controller.signal,
      });
      controller.abort(new Error('the client has gone'));
    }
    t.equal(await textOf(await db.stream({ sql: 'SELECT 7', format: 'TSVRaw' })), '7\n');
  });

  t.test('a signal ends the waiting with its own reason', async (t) => {
    const db = await begin(t);
    await db.command({ sql: 'CREATE TABLE contract.aborted (i UInt32) ENGINE = MergeTree ORDER BY i' });
    const slow = 'SELECT sum(sleepEachRow(0.1)) FROM numbers(10) SETTINGS max_block_size = 1';
    const calls: [string, (signal: AbortSignal) => Promise<unknown>][] = [
      ['rows', (signal) => db.rows({ sql: slow, signal })],
      ['stream', (signal) => db.stream({ sql: slow, format: 'TSVRaw', signal })],
      ['command', (signal) => db.command({ sql: `INSERT INTO contract.aborted ${slow}`, signal })],
      ['ready', (signal) => db.ready(signal)],
      [
        'insert',
        (signal) =>
          db.insert({ table: 'contract.aborted', columns: ['i'], lines: Buffer.from('[1]\n'), signal }),
      ],
    ];
    for (const [name, work] of calls) {
      const reason = new Error(`${name} is no longer wanted`);
      t.equal(await rejectionOf(work(AbortSignal.abort(reason))), reason, `${name}, aborted before`);
      if (name === 'ready' || name === 'insert') continue;
      const controller = new AbortController();
      const outcome = rejectionOf(work(controller.signal));
      await delay(30);
      controller.abort(reason);
      t.equal(await outcome, reason, name);
    }
    const stream = await db.stream({ sql: 'SELECT number FROM numbers(3000000)', format: 'TSVRaw' });
    await stream[Symbol.asyncIterator]().return?.();
    const controller = new AbortController();
    const aborted = await db.stream({
      sql: 'SELECT number FROM numbers(3000000)',
      format: 'TSVRaw',
      signal: controller.signal,
    });
    const reason = new Error('gone');
    const read = rejectionOf(
      (async () => {
        for await (const chunk of aborted) {
          if (chunk.byteLength > 0) controller.abort(reason);
        }
      })(),
    );
    t.equal(await read, reason);
    await db.ready();
  });

  t.test('an insert is all or nothing, and one block', async (t) => {
    const db = await begin(t);
    await db.command({
      sql: 'CREATE TABLE contract.whole (i UInt32, s String) ENGINE = MergeTree ORDER BY i PARTITION BY tuple()',
    });
    const count = 120_000;
    const good = Array.from({ length: count }, (_, i) => `[${i}, "row ${i}"]\n`);
    const bad = [...good];
    bad[count - 1] = '[1, {"not": "text"]\n';
    await t.rejects(
      db.insert({ table: 'contract.whole', columns: ['i', 's'], lines: Buffer.from(bad.join('')) }),
    );
    t.strictSame(await db.rows({ sql: 'SELECT i FROM contract.whole' }), []);
    await db.insert({ table: 'contract.whole', columns: ['i', 's'], lines: Buffer.from(good.join('')) });
    t.strictSame(await db.rows({ sql: 'SELECT toFloat64(count()) AS n FROM contract.whole' }), [
      { n: count },
    ]);
    t.strictSame(
      await db.rows({
        sql: `SELECT toFloat64(count()) AS parts FROM system.parts
         WHERE active AND database = 'contract' AND table = 'whole'`,
      }),
      [{ parts: 1 }],
    );
    // the same rows once more are more rows: nothing is taken for a repetition
    await db.insert({ table: 'contract.whole', columns: ['i', 's'], lines: Buffer.from(good.join('')) });
    t.strictSame(await db.rows({ sql: 'SELECT toFloat64(count()) AS n FROM contract.whole' }), [
      { n: 2 * count },
    ]);
  });

  t.test('what is written is read by the next statement, with many at once', async (t) => {
    const db = await begin(t);
    await db.command({ sql: 'CREATE TABLE contract.fresh (i UInt32) ENGINE = MergeTree ORDER BY i' });
    const work = Array.from({ length: 60 }, async (_, i) => {
      await db.insert({ table: 'contract.fresh', columns: ['i'], lines: Buffer.from(`[${i}]\n`) });
      return db.rows({ sql: `SELECT i FROM contract.fresh WHERE i = ${i}` });
    });
    t.strictSame(
      await Promise.all(work),
      Array.from({ length: 60 }, (_, i) => [{ i }]),
    );
  });

  t.test('of two inserts with one deduplication token in their SQL the first one counts', async (t) => {
    const db = await begin(t);
    await db.command({
      sql: `CREATE TABLE contract.once (i UInt32) ENGINE = MergeTree ORDER BY i
       SETTINGS non_replicated_deduplication_window = 100`,
    });
    const sql = (i: number): string =>
      `INSERT INTO contract.once (i) SETTINGS insert_deduplicate = 1, insert_deduplication_token = 'x:1' VALUES (${i})`;
    await Promise.all([1, 2, 3, 4].map((i) => db.command({ sql: sql(i) })));
    const rows = await db.rows<{ i: number }>({ sql: 'SELECT i FROM contract.once' });
    t.equal(rows.length, 1);
    await db.command({ sql: sql(9) });
    t.strictSame(await db.rows({ sql: 'SELECT i FROM contract.once' }), rows);
  });
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString('utf8');
}
