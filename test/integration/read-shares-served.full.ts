/** Readers of a ClickHouse server that stall: each holds a connection and what the server computes for it. */
import t from 'tap';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const server = await startClickhouse();
const db = openTestClickhouse({
  url: server.url,
  reads: { minRate: 16_384, minRatePeriod: 300 },
});
t.teardown(async () => {
  await db.close();
  await server.close();
});
const bytesOf = (rows: number): number => rows * 1000;
/** More than sockets and streams on the way hold. */
const long = 20_000;
/** Half of all, which is one account's share. */
const share = 32;

async function openReader(account: string): Promise<AsyncIterator<Uint8Array>> {
  // 999 characters and a line break
  const sql = `SELECT repeat('x', 999) FROM numbers(${long})`;
  const chunks = await db.stream({ sql, format: 'TSVRaw', account });
  return chunks[Symbol.asyncIterator]();
}

async function readAll(reader: AsyncIterator<Uint8Array>): Promise<number> {
  let bytes = 0;
  for (;;) {
    const next = await reader.next();
    if (next.done === true) return bytes;
    bytes += next.value.byteLength;
  }
}

t.test('readers that stall have a share, and lose it to those who wait', async (t) => {
  const stalled = Array.from({ length: share + 2 }, () => openReader('stalled'));
  stalled.forEach((reader) => {
    reader.catch(() => {});
  });
  const first = await Promise.all(stalled.slice(0, share));
  t.equal(await readAll(await openReader('other')), bytesOf(long), 'another account reads beside them');
  // these were let in because some of the first were cut
  const last = await Promise.all(stalled.slice(share));
  const ends = await Promise.allSettled(first.map(readAll));
  const cut = ends.filter((end) => end.status === 'rejected');
  t.ok(cut.length >= last.length, `${cut.length} were cut`);
  for (const { reason } of cut as PromiseRejectedResult[])
    t.match(reason, { status: 503, code: 'overloaded' });
  for (const reader of [...first, ...last]) await reader.return?.();
});

t.test('the server computes nothing more for those that were cut', async (t) => {
  const sql = `SELECT count() AS n FROM system.processes WHERE query LIKE '%numbers(${long})%' AND query NOT LIKE '%system.processes%'`;
  const running = async (): Promise<number> => {
    const [row] = await db.rows<{ n: number | string }>({ sql });
    return Number(row?.n);
  };
  while ((await running()) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(await readAll(await openReader('stalled')), bytesOf(long), 'and the account reads again');
});
