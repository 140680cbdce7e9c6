import { setTimeout as sleep } from 'node:timers/promises';
import { mebibyte } from '../../upload/harness/bytes.ts';
import { median } from '../../upload/harness/median.ts';
import { residentBytes } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import {
  makeTemporaryDirectory,
  removeTemporaryDirectory,
} from '../../upload/harness/temporary-directory.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { countFiles, insertOne, onTables, startService } from '../direct-store.ts';
import type { QueryMeasure } from './query-bench.ts';

/** The goals are for the second number; the third shows growth. */
const counts = [1, 10_000, 100_000] as const;
/** Rows of one INSERT. */
const batch = 100_000;
const env = { MAX_SPACES: '1000000' };

interface Figures {
  readonly spaces: number;
  readonly start: number;
  readonly memory: number;
  readonly files: number;
  readonly first: number;
}

/** Writes the same rows as the service: the catalogue, and a record for each space. */
async function prepare(folder: string, spaces: number): Promise<void> {
  const service = await startService(folder, env);
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

async function measure(spaces: number, rounds: number): Promise<Figures> {
  progress(`Q11: ${spaces} spaces are written`);
  const folder = makeTemporaryDirectory();
  await prepare(folder, spaces);
  const starts: number[] = [];
  const memory: number[] = [];
  const firsts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    const service = await startService(folder, env);
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
  removeTemporaryDirectory(folder);
  return { spaces, files, start: median(starts), memory: median(memory), first: median(firsts) };
}

/** What do spaces cost at start: time, resident memory after a request, files? */
export const q11: QueryMeasure = {
  id: 'Q11',
  long: true,
  async run({ rounds }): Promise<Finding[]> {
    const figures: Figures[] = [];
    for (const spaces of counts) figures.push(await measure(spaces, rounds));
    const [none, many] = figures as [Figures, Figures, Figures];
    const row = (
      what: string,
      value: number,
      { show, goal }: { show: (of: Figures) => string; goal: Finding['goal'] },
    ): Finding => ({
      measure: 'Q11',
      what: `10,000 spaces: ${what}`,
      goal,
      value,
      problems: [],
      subject: show(many),
      baseline: `one space: ${show(none)}`,
      shown: `${value.toFixed(value < 3 ? 2 : 0)}${goal?.unit ?? ''}`,
    });
    const [time, room, count] = [
      row('start', many.start / none.start, {
        show: ({ start }) => `${start.toFixed(0)} ms`,
        goal: { bound: 'at most', first: 1.2, aim: 1.05, unit: 'x' },
      }),
      row('RSS', many.memory - none.memory, {
        show: ({ memory }) => `${memory.toFixed(0)} MiB`,
        goal: { bound: 'at most', first: 20, aim: 5, unit: ' MiB' },
      }),
      row('files', many.files - none.files, {
        show: ({ files }) => String(files),
        goal: { bound: 'at most', first: 100, aim: 10, unit: '' },
      }),
    ];
    const shown = figures.map(
      ({ spaces, start, memory, files, first }) =>
        `${spaces}: start ${start.toFixed(0)} ms, ${memory.toFixed(0)} MiB, ${files} files, first insert into a new space ${first.toFixed(0)} ms`,
    );
    return [{ ...time, remark: shown.join('; '), details: { figures } }, room, count];
  },
};
