import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { sampleOf } from '../../upload/harness/median.ts';
import { progress } from '../../upload/harness/progress.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { authorization } from '../direct-store.ts';
import { structureOf } from '../requests.ts';
import { type QueryMeasure, startEngineOn } from './query-bench.ts';

const rows = 100_000;
const recorder = './bench/query/subject/record-streams.ts';
const goal = { bound: 'at least', first: 0.7, aim: 0.95, unit: '' } as const;
/** Lists per round. */
const lists = 5;

/** Bytes per second of an answer. It does not use fetch, which takes more CPU than the service. */
async function readList(url: string): Promise<number> {
  const began = performance.now();
  const request = get(`${url}/bench/people`, {
    headers: { authorization, structure: structureOf('people') },
  });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`find: ${answer.statusCode}`);
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
  });
  await finished(answer);
  return (bytes * 1000) / (performance.now() - began);
}

async function askEngine(url: string, sql: string): Promise<number> {
  const answer = await fetch(`${url}/raw-select`, { method: 'POST', body: sql });
  const { bytes, seconds, error } = (await answer.json()) as Record<string, number>;
  if (bytes === undefined || seconds === undefined) throw new Error(`SELECT: ${error}`);
  return bytes / seconds;
}

/**
 * How many bytes per second does a find of 100,000 records have, against the same statement in an engine process without
 * HTTP? The statement is recorded from the service. A list of this size is never cached.
 */
export const q3: QueryMeasure = {
  id: 'Q3',
  async run({ store, rounds }): Promise<Finding[]> {
    const made = await store(rows);
    const through: number[] = [];
    const raw: number[] = [];
    let sql: string | null = null;
    // both need exclusive access to the directory
    for (let round = 1; round <= rounds; round++) {
      const sluice = await made.start({}, [recorder]);
      await readList(sluice.ready);
      for (let list = 0; list < lists; list++) through.push(await readList(sluice.ready));
      const reported = once(sluice.process, 'message');
      sluice.process.send?.('report');
      sql = ((await reported)[0] as { last: string | null }).last;
      await sluice.stop();
      if (sql === null) throw new Error('the service streamed no statement');
      sql = sql.replace(/\s*FORMAT\s+\w+\s*$/i, '');
      const engine = await startEngineOn(made.engineFolder);
      await askEngine(engine.ready, sql);
      for (let list = 0; list < lists; list++) raw.push(await askEngine(engine.ready, sql));
      await engine.stop();
      progress(`Q3: round ${round} of ${rounds}`);
    }
    const [subject, baseline] = [sampleOf(through), sampleOf(raw)];
    const value = subject.median / baseline.median;
    const show = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB/s`;
    return [
      {
        measure: 'Q3',
        what: 'find of 100,000 records, no cache',
        goal,
        value,
        problems: [],
        subject: `Sluice: ${show(subject.median)}`,
        baseline: `the same SELECT: ${show(baseline.median)}`,
        shown: value.toFixed(2),
        details: { subject, baseline, sql },
      },
    ];
  },
};
