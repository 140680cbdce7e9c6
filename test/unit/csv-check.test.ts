/** The thread that reads CSV while the engine does. */

import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { CsvCheck } from '#query/files/csv-check.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const folder = await temporaryFolder(t);
const task = { prefixBytes: 0, delimiter: ',', columns: 2, nulls: [] };
const late = new Error('it takes too long');

async function fileOf(t: Test, bytes: string | Uint8Array) {
  const path = join(folder, 'a.csv');
  await writeFile(path, bytes);
  const file = await open(path);
  t.teardown(() => file.close());
  return file;
}

/** @param size a small one is read without a thread */
async function checkOf(t: Test, bytes: string | Uint8Array, size: number) {
  const file = await fileOf(t, bytes);
  const gone = new AbortController();
  const limits = { signal: gone.signal, timeout: 60_000, late: () => late };
  return { check: new CsvCheck({ ...task, source: { fd: file.fd } }, size, limits), gone, file };
}

const rows = 'a,b\n\n1,2\n3,4\n';

t.test('all of a file, and its first rows', async (t) => {
  for (const [bytes, size] of [
    [rows, rows.length],
    [rows, Number.POSITIVE_INFINITY],
    [gzipSync(rows), Number.POSITIVE_INFINITY],
  ] as const) {
    const { check, file } = await checkOf(t, bytes, size);
    await check.covers(1);
    await check.covers(Number.POSITIVE_INFINITY);
    t.equal(check.hasBlankLines, true);
    await check.close();
    t.equal((await file.stat()).size, bytes.length, 'the file stays open');
  }
});

t.test('what no import would accept', async (t) => {
  for (const [bytes, size] of [
    ['a,b\n1\n', 6],
    ['a,b\n1\n', Number.POSITIVE_INFINITY],
    ['a,b\n"1,2\n', Number.POSITIVE_INFINITY],
    [gzipSync(rows).subarray(0, 25), Number.POSITIVE_INFINITY],
  ] as const) {
    const { check } = await checkOf(t, bytes, size);
    await t.rejects(check.covers(Number.POSITIVE_INFINITY), {
      message: /not CSV that an import would accept/,
    });
    await check.close();
  }
});

t.test('it ends at its deadline, and with its client', async (t) => {
  // the thread would wait for the rest
  const server = createServer((_, response) => void response.write(rows)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const source = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const gone = new AbortController();
  const short = new CsvCheck({ ...task, source }, Number.POSITIVE_INFINITY, {
    signal: gone.signal,
    timeout: 1,
    late: () => late,
  });
  await t.rejects(short.covers(Number.POSITIVE_INFINITY), late);
  const check = new CsvCheck({ ...task, source }, Number.POSITIVE_INFINITY, {
    signal: gone.signal,
    timeout: 60_000,
  });
  await check.covers(2);
  const all = check.covers(Number.POSITIVE_INFINITY);
  gone.abort(new Error('the client is gone'));
  await t.rejects(all, { message: 'the client is gone' });
  await check.close();
});
