import type { Child } from '../../upload/harness/child-process.ts';
import { progress } from '../../upload/harness/progress.ts';
import { manySpaces, recordsOfMany } from '../requests.ts';
import { storeRecords } from '../subject/sluice-store.ts';
import { cacheOff, compare, type QueryMeasure, rateFinding } from './query-bench.ts';

const goal = { bound: 'at least', first: 0.7, aim: 0.9, unit: '' } as const;

/** The same records in one space and in 512. */
async function fill({ ready }: Child): Promise<void> {
  progress('Q9: spaces are filled');
  await storeRecords(ready, 'in-one', 0, manySpaces * recordsOfMany);
  const left = Array.from({ length: manySpaces }, (_, index) => index);
  const work = async (): Promise<void> => {
    for (let index = left.pop(); index !== undefined; index = left.pop()) {
      await storeRecords(ready, `in-${index}`, index * recordsOfMany, recordsOfMany);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/** How much slower are requests to 512 spaces than to one, with a unique field in each? */
export const q9: QueryMeasure = {
  id: 'Q9',
  async run({ store, rows, rounds, seconds }) {
    const made = await store(rows);
    // only uncached work could depend on the number of spaces
    const child = await made.start(cacheOff);
    try {
      await fill(child);
      const findings = [];
      for (const [what, many, one] of [
        ['insertOne with a unique field', 'insertOneIn512', 'insertOneIn1'],
        ['findOne distinct, cache off', 'findOneIn512', 'findOneIn1'],
      ] as const) {
        const [subject, baseline] = await compare('Q9', rounds, [
          { name: '512 spaces', child, job: () => ({ kind: many, seconds }) },
          { name: 'one space', child, job: () => ({ kind: one, seconds }) },
        ]);
        findings.push(rateFinding('Q9', what, [subject, baseline], goal));
      }
      return findings;
    } finally {
      await child.stop();
    }
  },
};
