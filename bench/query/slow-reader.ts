/**
 * Question: how far does the process grow while a long list streams to a reader that is slower than the engine?
 * `npm run bench:slow-reader -- [--seconds N] [--rate BYTES]`; goals: at most 96 MiB, better 32.
 *
 * Three spaces: 1,000,000 records of 100 bytes, 30,000 of 10 KB, 1,000 of 1 MB, each in ten parts. Each is read by
 * a fresh process, which has answered a small request before.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { watchMemory } from '../upload/harness/memory-watch.ts';
import { residentBytes } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { authorization, insertOne, onTables, startService, textStructure } from './direct-store.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    /** Bytes a second that the reader takes. */
    rate: { type: 'string', default: String(16 * 1024 * 1024) },
  },
});
const mebibyte = 1024 ** 2;
const parts = 10;
const shapes = [
  { slug: 'small', records: 1_000_000, bytes: 100 },
  { slug: 'middle', records: 30_000, bytes: 10_000 },
  { slug: 'large', records: 1_000, bytes: 1_000_000 },
];

/** Reads an answer no faster than the rate. @returns the bytes that it got */
async function readSlowly(url: string, slug: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /bench/${slug} HTTP/1.1\r\nHost: bench\r\nAuthorization: ${authorization}\r\nstructure: ${textStructure(slug)}\r\nConnection: close\r\n\r\n`,
  );
  const began = performance.now();
  let bytes = 0;
  for await (const chunk of socket) {
    bytes += (chunk as Buffer).byteLength;
    const elapsed = performance.now() - began;
    if (elapsed > Number(options.seconds) * 1000) break;
    await sleep(Math.max(0, (bytes / Number(options.rate)) * 1000 - elapsed));
  }
  socket.destroy();
  return bytes;
}

const folder = makeTemporaryDirectory();
const first = await startService(folder);
for (const { slug } of shapes) await insertOne(first.ready, slug);
await insertOne(first.ready, 'warm');
await first.stop();

progress('writing records');
await onTables(folder, async (db) => {
  // a merge in the background takes memory of its own, 35 to 120 MiB with records of 1 MB: it is none of the reader's
  await db.command({
    sql: 'ALTER TABLE sluice.records MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1',
  });
  for (const { slug, records, bytes } of shapes) {
    const space = `(SELECT toUUID(toString(id)) FROM sluice.record_spaces FINAL WHERE slug = '${slug}')`;
    for (let part = 0; part < parts; part++) {
      const from = (part * records) / parts;
      await db.command({
        sql: `INSERT INTO sluice.records (space, _id, _created_at, _updated_at, t0, _doc)
          SELECT ${space}, concat('1', leftPad(toString(number), 12, '0')), now64(3), now64(3),
            randomPrintableASCII(${bytes}) AS text, map('t0', text) FROM numbers(${from}, ${records / parts})`,
      });
    }
  }
});

console.log(machineLine(describeMachine()));
console.log('| records | bytes each | MiB read | growth MiB |\n|---|---|---|---|');
for (const { slug, records, bytes } of shapes) {
  progress(`reading ${records} records of ${bytes} bytes`);
  const service = await startService(folder);
  await readSlowly(service.ready, 'warm');
  const before = residentBytes([service.pid]);
  const watch = watchMemory([service.pid]);
  const read = await readSlowly(service.ready, slug);
  const growth = watch.end().peak - before;
  console.log(
    `| ${records} | ${bytes} | ${Math.round(read / mebibyte)} | ${Math.round(growth / mebibyte)} |`,
  );
  await service.stop();
}
removeTemporaryDirectory(folder);
