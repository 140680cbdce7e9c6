/** Increments that wait for the same record, and are written at once. */
import t from 'tap';
import { invalidValue } from '#kernel/errors/catalogue.ts';
import { makeCounts, type WaitingCount } from '#records/waiting-counts.ts';

const waiting = (id: string): WaitingCount => ({
  step: { id, assignments: [] },
  signal: new AbortController().signal,
  row: null,
  refusal: null,
});

t.test('around a refused one, all that is written may be acknowledged first', async (t) => {
  const counts = [waiting('good'), waiting('refused')];
  let acknowledge = (): void => {};
  const announced = new Promise<void>((resolve) => {
    acknowledge = resolve;
  });
  let isOver = false;
  const written: string[][] = [];
  const writes = {
    async change({ steps }: { readonly steps: readonly { readonly id: string }[] }) {
      written.push(steps.map(({ id }) => id));
      if (steps.some(({ id }) => id === 'refused')) throw invalidValue(['no sum']);
      return { rows: [], invalidated: announced };
    },
  };
  const made = makeCounts(writes as never, {} as never, counts).then(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  t.equal(isOver, false, 'the first half is not announced yet');
  acknowledge();
  await made;
  t.strictSame(written, [['good', 'refused'], ['good'], ['refused']]);
  t.match(counts[1]?.refusal, { code: 'invalid_value' });
});
