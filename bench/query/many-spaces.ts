/**
 * Question: what do 10,000 and 100,000 spaces cost a process that starts? `npm run bench:many-spaces -- [--rounds N]`;
 * goals for 10,000: start within 1.2 of an empty store, 20 MB more memory, 100 more files.
 *
 * The rows of the catalogue, and a record for each space, are written as the service writes them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { residentBytes } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { countFiles, insertOne, onTables, startService } from './direct-store.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } });
const counts = [1, 10_000, 100_000];
const mebibyte = 1024 ** 2;
/** Rows of one INSERT. */
const batch = 100_000;

async function prepare(folder: string, spaces: number): Promise<void> {
  const service = await startService(folder, { MAX_SPACES: '1000000' });
  await insertOne(service.ready, 'first');
  await service.stop();
  await onTables(folder, async (db) => {
    for (let from = 1; from < spaces; from += batch) {
      const numbers = `numbers(${from}, ${Math.min(batch, spaces - from)}) AS n`;
      // the same number gives the same id in both tables
      const id = `reinterpretAsUUID(MD5(toString(n.number)))`;
      await db.command({
        sql: `INSERT INTO sluice.record_spaces SELECT s.* REPLACE (${id} AS id, concat('space-', toString(n.number)) AS slug)
          FROM sluice.record_spaces AS s FINAL CROSS JOIN ${numbers} WHERE s.slug = 'first'`,
      });
      await db.command({
        sql: `INSERT INTO sluice.records (space, _id, _created_at, _updated_at, t0, _doc)
          SELECT ${id}, 'a', now64(3), now64(3), 'first', map('t0', 'first') FROM ${numbers}`,
      });
    }
    await db.command({ sql: 'OPTIMIZE TABLE sluice.record_spaces FINAL' });
  });
}

console.log(machineLine(describeMachine()));
console.log(
  '| spaces | start ms | RSS MiB | files | first insert into a new space ms |\n|---|---|---|---|---|',
);
for (const spaces of counts) {
  progress(`${spaces} spaces`);
  const folder = makeTemporaryDirectory();
  await prepare(folder, spaces);
  const starts: number[] = [];
  const memory: number[] = [];
  const firsts: number[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const began = performance.now();
    const service = await startService(folder, { MAX_SPACES: '1000000' });
    starts.push(performance.now() - began);
    await insertOne(service.ready, 'first');
    const before = performance.now();
    await insertOne(service.ready, `fresh-${round}`);
    firsts.push(performance.now() - before);
    await sleep(1000);
    memory.push(residentBytes([service.pid]) / mebibyte);
    await service.stop();
  }
  const files = await countFiles(folder);
  const cells = [spaces, median(starts), median(memory), files, median(firsts)];
  console.log(`| ${cells.map((cell) => Math.round(cell)).join(' | ')} |`);
  removeTemporaryDirectory(folder);
}
