import type { RequestKind } from '../query/requests.ts';
import type { Goal } from '../upload/measures/measure.ts';
import type { Round } from './deployment.ts';

/** A goal for a figure of a line: for spaces of 100,000, 1,000,000 and 10,000,000 records, or the same for all. */
export interface LineGoal {
  readonly id: 'Q18' | 'Q19' | 'Q20';
  readonly what: string;
  readonly of: (round: Round) => number;
  readonly unit: Goal['unit'];
  readonly first: readonly [number, number, number] | number;
  readonly aim: readonly [number, number, number] | number;
}

export interface Line {
  readonly name: string;
  readonly kind: RequestKind;
  /** Absent: 64. */
  readonly connections?: number;
  readonly goals?: readonly LineGoal[];
}

const engine = { what: 'CPU of the engine', of: (round: Round) => round.engine, unit: ' us' };
const own = { what: 'CPU of Sluice', of: (round: Round) => round.own, unit: ' us' };
const p50 = { what: 'p50', of: (round: Round) => round.p50, unit: ' ms' };
const parts = { what: 'new parts a second', of: (round: Round) => round.parts, unit: '' };
const findGoal: LineGoal = { id: 'Q18', ...engine, first: [350, 350, 450], aim: [250, 250, 300] };

/** Requests never repeat, except for `find again and again`, pages, and the 2,000 values with updates. The last ones write. */
export const lines: readonly Line[] = [
  {
    name: 'find by two fields, each once',
    kind: 'findByTwo',
    goals: [findGoal, { id: 'Q20', ...own, first: 120, aim: 80 }],
  },
  {
    name: 'find by two fields, one caller',
    kind: 'findByTwo',
    connections: 1,
    goals: [{ id: 'Q18', ...p50, first: [6, 7, 9], aim: [4, 4, 5] }],
  },
  { name: 'findOne by a unique value, each once', kind: 'findOneUnseen' },
  { name: 'find again and again', kind: 'find' },
  { name: 'sorted page of 20, 4,500 pages', kind: 'page' },
  { name: 'nine finds to one update', kind: 'findByTwoMixed' },
  {
    name: 'insertOne',
    kind: 'insertOne',
    goals: [
      { id: 'Q19', ...engine, first: 600, aim: 400 },
      { id: 'Q20', ...own, first: 250, aim: 150 },
    ],
  },
  {
    name: 'insertOne, one caller',
    kind: 'insertOne',
    connections: 1,
    goals: [{ id: 'Q19', ...p50, first: 16, aim: 12 }],
  },
  {
    name: 'updateOneById',
    kind: 'updateOneById',
    goals: [{ id: 'Q20', ...engine, first: 450, aim: 300 }],
  },
];

/** They make the space grow. */
export const arrays: readonly Line[] = [
  { name: 'array of 1,000', kind: 'insert1000', connections: 4 },
  { name: 'array of 5,000', kind: 'insert5000', connections: 4 },
];

/** Merges are stopped meanwhile. */
export const afterUpdates: Line = {
  name: 'find by two fields, a tenth updated and not merged',
  kind: 'findByTwo',
  goals: [findGoal],
};

export const throughSeveral = (processes: number): Line => ({
  name: `insertOne through ${processes} processes`,
  kind: 'insertOne',
  goals: [{ id: 'Q19', ...parts, first: 25, aim: 15 }],
});

export function goalFor(rows: number, { first, aim, unit }: LineGoal): Goal {
  const size = rows >= 10_000_000 ? 2 : rows >= 1_000_000 ? 1 : 0;
  const at = (bound: LineGoal['first']): number => (typeof bound === 'number' ? bound : bound[size]);
  return { bound: 'at most', first: at(first), aim: at(aim), unit };
}
