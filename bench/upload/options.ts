import { parseArgs } from 'node:util';
import type { StoreName } from './subject/start-sluice.ts';

export interface Options {
  /** Ids of the measures to run. */
  readonly only: readonly string[];
  readonly rounds: number;
  readonly quick: boolean;
  /** What Sluice stores in. */
  readonly store: StoreName;
}

export const usage = `npm run bench -- upload [--only U1,U6] [--rounds N] [--quick] [--store s3|fs]

  --only    the measures to run, all unless given
  --rounds  rounds of each comparison, of which the median is taken (5; 1 with --quick)
  --quick   small sizes: shows that everything works, measures nothing
  --store   what Sluice stores in (s3)
`;

/** Throws an Error whose message says what is wrong. */
export function readOptions(args: readonly string[], known: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      store: { type: 'string' },
    },
  });
  const only = values.only?.split(',').map((id) => id.trim().toUpperCase()) ?? known;
  const unknown = only.filter((id) => !known.includes(id));
  if (unknown.length > 0)
    throw new Error(`--only: there is no ${unknown.join(', ')}, only ${known.join(', ')}`);
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 5));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds should be a whole number from 1');
  const { store = 's3' } = values;
  if (store !== 's3' && store !== 'fs') throw new Error('--store should be s3 or fs');
  return { only, rounds, quick: values.quick, store };
}
