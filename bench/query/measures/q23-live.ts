import type { Child } from '../../upload/harness/child-process.ts';
import { median } from '../../upload/harness/median.ts';
import { residentBytes } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import { settle } from '../../upload/harness/settle.ts';
import type { Finding, Goal } from '../../upload/measures/measure.ts';
import { delayOf, openStreams, type Streams, write, writeArrays } from '../live-load.ts';
import type { QueryMeasure } from './query-bench.ts';

const env = { LIVE_MAX_STREAMS: '20000', LIVE_MAX_TOKEN_STREAMS: '20000' };
/** Start of a round's write numbers, far from the last round's. */
let from = 0;

function next(): number {
  from += 10_000_000;
  return from;
}

async function withStreams<Result>(
  child: Child,
  queries: readonly string[],
  work: (streams: Streams) => Promise<Result>,
): Promise<Result> {
  const streams = await openStreams(child.ready, queries);
  try {
    return await work(streams);
  } finally {
    streams.close();
  }
}

function citiesOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `city=town-${at}`);
}

const ofTowns = (towns: number) => (number: number) => `town-${number % towns}`;

/** Writes while streams are open: how late do their events arrive? */
async function delays(child: Child, seconds: number, rate?: number) {
  return withStreams(child, citiesOf(1000), async ({ heard }) => {
    const written = await write(child.ready, {
      connections: 32,
      seconds,
      from: next(),
      cityOf: ofTowns(1000),
      ...(rate === undefined ? {} : { rate }),
    });
    return { perSecond: written.perSecond, delay: await delayOf(heard, written) };
  });
}

async function inserts(child: Child, seconds: number): Promise<number> {
  const { perSecond } = await write(child.ready, {
    connections: 64,
    seconds,
    from: next(),
    cityOf: () => 'elsewhere',
  });
  return perSecond;
}

async function firehose(child: Child): Promise<number> {
  const first = next();
  const records = 40_000;
  return withStreams(child, [`number[gte]=${first}`], async ({ heard }) => {
    const began = performance.now();
    await writeArrays(child.ready, first, records);
    while (heard.at.size < records) {
      if (performance.now() - began > 60_000) throw new Error(`${heard.at.size} of ${records} were heard of`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return records / ((performance.now() - began) / 1000);
  });
}

async function memory(child: Child, count: number): Promise<number> {
  const before = residentBytes([child.pid]);
  return withStreams(child, citiesOf(count), async () => {
    await settle();
    return (residentBytes([child.pid]) - before) / count / 1024;
  });
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
        note('delay', (await delays(child, seconds, 1000)).delay);
        const most = await delays(child, seconds);
        note('matching', most.perSecond);
        note('matching delay', most.delay);
        const alone = await inserts(child, seconds);
        const beside = await withStreams(child, citiesOf(9000), () => inserts(child, seconds));
        note('share', beside / alone);
        note('beside', beside);
        note('everything', await firehose(child));
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
        note('memory', await memory(fresh, 9000));
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
