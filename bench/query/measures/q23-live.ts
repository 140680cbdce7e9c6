import type { Child } from '../../upload/harness/child-process.ts';
import { median } from '../../upload/harness/median.ts';
import { residentBytes } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import { settle } from '../../upload/harness/settle.ts';
import type { Finding, Goal } from '../../upload/measures/measure.ts';
import { firehose } from '../firehose.ts';
import { openFinds, runLive } from '../live-load.ts';
import type { QueryMeasure } from './query-bench.ts';

const env = { LIVE_MAX_STREAMS: '20000', LIVE_MAX_TOKEN_STREAMS: '20000' };
const streams = 1000;
const manyStreams = 9000;
const firehoseRecords = 40_000;

/** Writes while streams are open: how late do their events arrive? Milliseconds, p99. */
async function delays(child: Child, seconds: number, pace: { rate?: number; concurrency?: number }) {
  const { perSecond, live } = await runLive(child.ready, { seconds, streams, ...pace });
  if (live === null || live.delay === null) throw new Error('no event came of a write');
  return { perSecond, delay: live.delay.p99 };
}

/** Inserts a second that match no stream. */
async function inserts(child: Child, seconds: number, streams = 0): Promise<number> {
  const { perSecond, live } = await runLive(child.ready, { seconds, by: 'number', streams, concurrency: 64 });
  if (live !== null && live.events > 0) throw new Error('a stream was told of what does not match');
  return perSecond;
}

async function memory(child: Child, count: number): Promise<number> {
  const before = residentBytes([child.pid]);
  const close = await openFinds(child.ready, count);
  try {
    await settle();
    return (residentBytes([child.pid]) - before) / count / 1024;
  } finally {
    close();
  }
}

/** How late do live queries get changes, and what do they cost writers? */
export const q23: QueryMeasure = {
  id: 'Q23',
  async run({ store, rounds, seconds }) {
    const made = await store(1000);
    const values = new Map<string, number[]>();
    const note = (name: string, value: number): void => {
      values.set(name, [...(values.get(name) ?? []), value]);
      progress(`Q23: ${name}: ${value.toFixed(2)}`);
    };
    const child = await made.start(env);
    try {
      await inserts(child, 1);
      for (let round = 1; round <= rounds; round++) {
        note('delay', (await delays(child, seconds, { rate: 1000 })).delay);
        const most = await delays(child, seconds, { concurrency: 32 });
        note('matching', most.perSecond);
        note('matching delay', most.delay);
        const alone = await inserts(child, seconds);
        const beside = await inserts(child, seconds, manyStreams);
        note('share', beside / alone);
        note('beside', beside);
        note('everything', await firehose(child.ready, round, firehoseRecords));
      }
    } finally {
      await child.stop();
    }
    for (let round = 1; round <= rounds; round++) {
      const fresh = await made.start(env);
      try {
        // excludes the memory of a process's first requests
        await inserts(fresh, 1);
        await memory(fresh, 100);
        note('memory', await memory(fresh, manyStreams));
      } finally {
        await fresh.stop();
      }
    }
    return findings(values);
  },
};

function findings(values: ReadonlyMap<string, readonly number[]>): Finding[] {
  const line = (name: string, what: string, unit: string, goal: Omit<Goal, 'unit'> | null): Finding => {
    const all = values.get(name) ?? [];
    const value = median([...all]);
    const shown = (one: number): string => `${one < 10 ? one.toFixed(2) : Math.round(one)}${unit}`;
    return {
      measure: 'Q23',
      what,
      value,
      shown: shown(value),
      subject: all.map(shown).join(', '),
      baseline: '',
      goal: goal && { ...goal, unit },
      problems: [],
      details: { all },
    };
  };
  const most = (first: number, aim: number) => ({ bound: 'at most', first, aim }) as const;
  const least = (first: number, aim: number) => ({ bound: 'at least', first, aim }) as const;
  return [
    line('delay', '1,000 streams, 1,000 writes/s: from answer to event, p99', ' ms', most(100, 30)),
    line('matching', 'changes that match one of 1,000 streams', '/s', least(2000, 5000)),
    line('matching delay', 'beside these: from answer to event, p99', ' ms', most(30, 30)),
    line('beside', 'changes that match none of 9,000 streams', '/s', least(5000, 5000)),
    line('share', 'these, as a share of inserts without streams', '', least(0.8, 0.95)),
    line('everything', 'events of a stream that matches everything', '/s', least(5000, 20_000)),
    line('memory', 'memory of a stream', ' KiB', most(20, 5)),
  ];
}
