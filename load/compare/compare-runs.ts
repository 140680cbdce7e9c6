import type { RunResult, Window } from '../run/result.ts';
import { blockLength, blocksOf, type Series, total } from './blocks.ts';
import { type Figure, figures } from './figures.ts';
import { notesOn, sharedPhases } from './notes-on.ts';
import { permutationTest } from './permutation.ts';
import { spreadOfRuns } from './spread-of-runs.ts';

export interface Comparison {
  readonly a: Side;
  readonly b: Side;
  readonly figures: readonly ComparedFigure[];
  /** Sentences on what makes the two sides hard to compare. */
  readonly notes: readonly string[];
}

export interface Side {
  readonly runs: number;
  /** Seconds that are compared. */
  readonly seconds: number;
  readonly mixes: readonly string[];
  /** Kind and address. */
  readonly targets: readonly string[];
}

export interface ComparedFigure {
  readonly name: string;
  readonly unit: Figure['unit'];
  readonly better: 'higher' | 'lower';
  /** In a typical second; null: no second says. */
  readonly a: number | null;
  readonly b: number | null;
  /** b's value less a's: a share of a's value; of the unit `share` the difference itself. */
  readonly change: number | null;
  /** How large a change may be that is noise. */
  readonly noise: number | null;
  readonly verdict: 'higher' | 'lower' | 'same' | 'too little data';
  /** In which share of random relabellings of the seconds the change is at least as large. */
  readonly chance: number | null;
  /** With too little data: seconds that each side needs. */
  readonly needs: number | null;
}

/** Of 40 comparisons of equal sides, about one finds a difference, in all figures together. */
const level = 0.025 / figures.length;
/** Blocks that a side needs: of 6 and 6 there are 924 relabellings, and the level can be reached. */
const fewestBlocks = 6;
/**
 * Compares runs of one server, or of two, with runs of another: which figures differ by more than the noise of repeated runs.
 * The more runs a side has, the better the noise between runs is known.
 * @param a at least one run
 * @param b at least one run
 */
export function compareRuns(a: readonly RunResult[], b: readonly RunResult[]): Comparison {
  const phases = sharedPhases(a, b);
  const ofA = a.map((run) => countedWindows(run, phases));
  const ofB = b.map((run) => countedWindows(run, phases));
  return {
    a: sideOf(a, ofA),
    b: sideOf(b, ofB),
    figures: figures.map((figure) => compareFigure(figure, ofA, ofB)),
    notes: notesOn(a, b),
  };
}

/** The seconds that count of one run, by phase. */
type RunWindows = ReadonlyMap<string, readonly Window[]>;

function countedWindows(run: RunResult, phases: ReadonlySet<string>): RunWindows {
  // its first and its last second are in part another's
  const windowsOf = (name: string) => run.windows.filter(({ phase }) => phase === name).slice(1, -1);
  return new Map([...phases].map((name) => [name, windowsOf(name)]));
}

function sideOf(runs: readonly RunResult[], windows: readonly RunWindows[]): Side {
  return {
    runs: runs.length,
    seconds: windows.reduce((sum, run) => sum + [...run.values()].flat().length, 0),
    mixes: [...new Set(runs.map(({ mix }) => mix.name))],
    targets: [...new Set(runs.map(({ target }) => `${target.kind} at ${target.url}`))],
  };
}

function compareFigure(figure: Figure, a: readonly RunWindows[], b: readonly RunWindows[]): ComparedFigure {
  const { name, unit, better, valueIn, shown } = figure;
  const ofA = a.map((run) => seriesOf(figure, run));
  const ofB = b.map((run) => seriesOf(figure, run));
  const [valueA, valueB] = [valueOfAll(figure, ofA.flat()), valueOfAll(figure, ofB.flat())];
  const values = { a: valueA === null ? null : shown(valueA), b: valueB === null ? null : shown(valueB) };
  const compared = { name, unit, better, ...values };
  const unknown = { noise: null, chance: null, verdict: 'too little data' } as const;
  if (valueA === null || valueB === null) return { ...compared, ...unknown, change: null, needs: null };
  // of nothing, nothing is a share
  const from = valueA === 0 ? valueB : valueA;
  const change = figure.changeFor(valueB - valueA, from);
  const length = blockLength([...ofA, ...ofB].flat());
  const [blocksA, blocksB] = [blocksOf(ofA.flat(), length), blocksOf(ofB.flat(), length)];
  if (Math.min(blocksA.length, blocksB.length) < fewestBlocks)
    return { ...compared, ...unknown, change, needs: fewestBlocks * length };
  const { bound, chance } = permutationTest(blocksA, blocksB, { level, valueIn });
  const between = spreadOfRuns(valuesOfRuns(figure, ofA), valuesOfRuns(figure, ofB));
  // in the direction of the change: half as much is as far off as twice as much
  const difference = Math.sign(valueB - valueA) * Math.max(bound, between);
  // two starts of one server seldom agree better, and of one run a side nothing is known of that
  const least = figure.least * (Math.min(a.length, b.length) < 2 ? 2 : 1);
  const noise = Math.max(Math.abs(figure.changeFor(difference, from)), least);
  const verdict = Math.abs(change) <= noise ? 'same' : change > 0 ? 'higher' : 'lower';
  return { ...compared, change, noise, chance, verdict, needs: null };
}

function seriesOf(figure: Figure, run: RunWindows): Series[] {
  return [...run].map(([stratum, windows]) => ({
    stratum,
    shares: windows.map(figure.of).filter((share) => share !== null),
  }));
}

function valueOfAll({ valueIn }: Figure, series: readonly Series[]): number | null {
  const all = total(series.flatMap(({ shares }) => shares));
  return all.weight === 0 ? null : valueIn(all);
}

function valuesOfRuns(figure: Figure, runs: readonly (readonly Series[])[]): number[] {
  return runs.map((series) => valueOfAll(figure, series)).filter((value) => value !== null);
}
