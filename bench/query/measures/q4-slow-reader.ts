import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { mebibyte } from '../../upload/harness/bytes.ts';
import { watchMemory } from '../../upload/harness/memory-watch.ts';
import { residentBytes } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import {
  makeTemporaryDirectory,
  removeTemporaryDirectory,
} from '../../upload/harness/temporary-directory.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { authorization, insertOne, onTables, startService, textStructure } from '../direct-store.ts';
import type { QueryMeasure } from './query-bench.ts';

const goal = { bound: 'at most', first: 96, aim: 32, unit: ' MiB' } as const;
/** Bytes per second that the reader reads, and for how long. */
const rate = 16 * mebibyte;
const seconds = 12;
const parts = 10;
const shapes = [
  { slug: 'small', records: 1_000_000, bytes: 100, shown: '1,000,000 records of 100 bytes' },
  { slug: 'middle', records: 30_000, bytes: 10_000, shown: '30,000 of 10 KB' },
  { slug: 'large', records: 1_000, bytes: 1_000_000, shown: '1,000 of 1 MB' },
];

/** Reads an answer no faster than the rate. @returns the received bytes */
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
    if (elapsed > seconds * 1000) break;
    await sleep(Math.max(0, (bytes / rate) * 1000 - elapsed));
  }
  socket.destroy();
  return bytes;
}

/** Writes the same rows as the service, but without the time of requests. */
async function prepare(folder: string): Promise<void> {
  const first = await startService(folder);
  for (const { slug } of shapes) await insertOne(first.ready, slug);
  await insertOne(first.ready, 'warm');
  await first.stop();
  progress('Q4: records are written');
  await onTables(folder, async (db) => {
    // a background merge takes 35 to 120 MiB with records of 1 MB, which the reader did not cause
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
}

/**
 * How far does the process grow while a long list streams to a reader that is slower than the engine? Three spaces, each
 * in ten parts, each read by a fresh process that has already answered a small request.
 */
export const q4: QueryMeasure = {
  id: 'Q4',
  async run({ rounds }): Promise<Finding[]> {
    const folder = makeTemporaryDirectory();
    await prepare(folder);
    const findings: Finding[] = [];
    for (const { slug, shown } of shapes) {
      const growths: number[] = [];
      let read = 0;
      for (let round = 1; round <= rounds; round++) {
        const service = await startService(folder);
        await readSlowly(service.ready, 'warm');
        const before = residentBytes([service.pid]);
        const watch = watchMemory([service.pid]);
        read = await readSlowly(service.ready, slug);
        growths.push((watch.end().peak - before) / mebibyte);
        await service.stop();
        progress(`Q4: round ${round} of ${rounds}, ${shown}: +${growths.at(-1)?.toFixed(0)} MiB`);
      }
      // memory is a bound: the worst counts
      const value = Math.max(...growths);
      findings.push({
        measure: 'Q4',
        what: `${shown} to a slow reader, RSS growth`,
        goal,
        value,
        subject: `+${growths.map((growth) => growth.toFixed(0)).join(', ')} MiB`,
        baseline: '16 MiB/s are read',
        shown: `${value.toFixed(0)} MiB`,
        problems: read > 0 ? [] : ['nothing was read'],
        details: { growths, read },
      });
    }
    removeTemporaryDirectory(folder);
    return findings;
  },
};
