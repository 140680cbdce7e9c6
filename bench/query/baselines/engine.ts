import type * as Uws from 'uWebSockets.js';
import { openChdb } from '#engine/open-chdb.ts';
import { loadUws } from '#server/http/uws.ts';
import { recordOf, recordsFrom } from '../requests.ts';

/**
 * The usual embedded engine behind HTTP: one statement per request, on an ordinary table with a skip index on the looked-up
 * value. It checks no token, no structure and no unique value. Writes are as durable as Sluice's. Also only the engine,
 * without HTTP: INSERTs of arrays, and a streamed SELECT.
 *
 * ENGINE_PATH: the engine's directory. ENGINE_ROWS: records of the table; 0: no table, for SELECTs only.
 */
const rows = Number(process.env.ENGINE_ROWS);
const db = openChdb({ path: process.env.ENGINE_PATH ?? '' });
const table = 'bench.people';
const columns = ['email', 'name', 'city', 'age', 'score', 'active', 'about', 'level'];
let inserted = 0;

async function makeTable(): Promise<void> {
  await db.command({ sql: 'CREATE DATABASE IF NOT EXISTS bench' });
  await db.command({
    sql: `CREATE TABLE IF NOT EXISTS ${table} (id String, createdAt DateTime64(3, 'UTC') DEFAULT now64(3), updatedAt DateTime64(3, 'UTC') DEFAULT now64(3),
      email String, name String, city String, age Float64, score Float64, active Bool, about String, level Float64,
      INDEX by_email email TYPE bloom_filter(0.001) GRANULARITY 1)
      ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1,
      fsync_after_insert = 1, fsync_part_directory = 1`,
  });
  const [found] = await db.rows<{ n: number }>({ sql: `SELECT toFloat64(count()) AS n FROM ${table}` });
  if ((found?.n ?? 0) >= rows) return;
  await db.command({
    sql: `INSERT INTO ${table} SELECT leftPad(toString(number), 12, '0'), now64(3), now64(3), concat('person-', toString(number), '@example.com'),
      concat('Person ', toString(number % 10000)), ['London', 'Paris', 'Lagos', 'Lima'][number % 4 + 1], number % 100, number / 8, number % 2 = 0,
      'a text of some length, as records have them', number % 10 FROM numbers(${rows})`,
  });
}

const idOf = (number: number): string => String(number).padStart(12, '0');

function line(id: string, record: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([id, ...columns.map((name) => record[name])]);
}

function insert(lines: string): Promise<void> {
  return db.insert({ table, columns: ['id', ...columns], lines: Buffer.from(lines) });
}

/** @param text the request's query, or its body */
const operations: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  async '/find-one'(text) {
    const email = `person-${(Number(text) * 7919) % rows}@example.com`;
    const sql = `SELECT id, createdAt, updatedAt, ${columns.join(', ')} FROM ${table} WHERE email = '${email}' LIMIT 1`;
    const [record] = await db.rows({ sql });
    if (record === undefined) throw new Error(`no record has ${email}`);
    return record;
  },
  async '/insert-one'(text) {
    await insert(line(idOf(rows + inserted++), JSON.parse(text) as Record<string, unknown>));
    return { inserted };
  },
  async '/update-one'(text) {
    const number = Number(text);
    await db.command({
      sql: `UPDATE ${table} SET score = ${number}, updatedAt = now64(3) WHERE id = '${idOf((number * 7919) % rows)}'`,
    });
    return { number };
  },
  /** Inserts arrays of `size` records for `seconds`, `connections` at a time; the text is prepared. */
  async '/raw-insert'(text) {
    const { size, seconds, connections, from } = JSON.parse(text) as Record<string, number>;
    const array = (number: number): string =>
      recordsFrom(number, size as number)
        .map((record) => line(idOf(rows + inserted++), record))
        .join('\n');
    const texts = Array.from({ length: 16 }, (_, index) =>
      array((from as number) + index * (size as number)),
    );
    const began = performance.now();
    let arrays = 0;
    const work = async (): Promise<void> => {
      while (performance.now() - began < (seconds as number) * 1000) {
        await insert(texts[arrays++ % texts.length] as string);
      }
    };
    await Promise.all(Array.from({ length: connections as number }, work));
    return { perSecond: (arrays * (size as number) * 1000) / (performance.now() - began) };
  },
  /** Inserts a file of the fields that an import has. */
  async '/raw-import'(text) {
    const { path, format } = JSON.parse(text) as Record<string, string>;
    await db.command({ sql: 'DROP TABLE IF EXISTS bench.imported SYNC' });
    await db.command({
      sql: `CREATE TABLE bench.imported (id UUID DEFAULT generateUUIDv7(), createdAt DateTime64(3, 'UTC') DEFAULT now64(3),
        updatedAt DateTime64(3, 'UTC') DEFAULT now64(3), name String, email String, age Float64, score Float64, isActive Bool,
        city String, country String, notes String, INDEX by_email email TYPE bloom_filter(0.001) GRANULARITY 1)
        ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1`,
    });
    const fields = 'name, email, age, score, isActive, city, country, notes';
    await db.command({
      sql: `INSERT INTO bench.imported (${fields}) SELECT ${fields} FROM file('${path}', '${format}')`,
    });
    return {};
  },
  /** The body is the statement. */
  async '/raw-select'(sql) {
    const began = performance.now();
    let bytes = 0;
    for await (const chunk of await db.stream({ sql, format: 'TSVRaw' })) bytes += chunk.byteLength;
    return { bytes, seconds: (performance.now() - began) / 1000 };
  },
};

function answer(res: Uws.HttpResponse, path: string, text: string, isAborted: () => boolean): void {
  const operation = operations[path] ?? (async () => recordOf(0));
  const send = (status: string, value: unknown): void => {
    if (isAborted()) return;
    res.cork(() => {
      res.writeStatus(status).writeHeader('content-type', 'application/json').end(JSON.stringify(value));
    });
  };
  operation(text).then(
    (value) => send('200 OK', value),
    (error: unknown) => send('500 Internal Server Error', { error: String(error) }),
  );
}

if (rows > 0) await makeTable();
loadUws()
  .App()
  .any('/*', (res, req) => {
    const path = req.getUrl();
    const query = req.getQuery();
    let aborted = false;
    res.onAborted(() => {
      aborted = true;
    });
    if (req.getMethod() === 'get') return answer(res, path, query ?? '', () => aborted);
    const chunks: Buffer[] = [];
    res.onData((chunk, isLast) => {
      chunks.push(Buffer.from(chunk.slice(0)));
      if (isLast) answer(res, path, query || Buffer.concat(chunks).toString(), () => aborted);
    });
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('no port of 127.0.0.1 can be listened on');
    process.stdout.write(`baseline listens on http://127.0.0.1:${loadUws().us_socket_local_port(socket)}\n`);
  });
process.once('SIGTERM', () => void db.close().then(() => process.exit()));
