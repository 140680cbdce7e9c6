import type { Block } from './blocks.ts';
import type { Share } from './figures.ts';

const relabellings = 4000;

export interface PermutationTest {
  /** b's value less a's. */
  readonly difference: number;
  /** The difference that all but a share `level` of the relabellings stay below. */
  readonly bound: number;
  /** In which share of the relabellings the difference is at least as large. */
  readonly chance: number;
}

/**
 * A permutation test: if a and b were the same, it would not matter which block is called a's, so blocks are relabelled at
 * random, each within its phase, and differences that come of it are noise. It answers the same for the same blocks.
 * @param level such as 0.01
 */
export function permutationTest(
  a: readonly Block[],
  b: readonly Block[],
  { level, valueIn }: { readonly level: number; readonly valueIn: (share: Share) => number },
): PermutationTest {
  const strata = [...new Set([...a, ...b].map(({ stratum }) => stratum))].map((name) => {
    const inA = a.filter(({ stratum }) => stratum === name);
    return { blocks: [...inA, ...b.filter(({ stratum }) => stratum === name)], chosen: inA.length };
  });
  const all = sumOf([...a, ...b]);
  const differenceFor = (inA: Share): number =>
    valueIn({ sum: all.sum - inA.sum, weight: all.weight - inA.weight }) - valueIn(inA);
  const difference = differenceFor(sumOf(a));
  const random = xorshift(0x9e3779b9);
  const relabelled = Array.from({ length: relabellings }, () => {
    const inA = { sum: 0, weight: 0 };
    for (const { blocks, chosen } of strata) addChosen(blocks, chosen, random, inA);
    return Math.abs(differenceFor(inA));
  }).sort((one, other) => one - other);
  // sums in another order are off by a rounding error
  const least = Math.abs(difference) * (1 - 1e-9);
  const atLeast = relabelled.filter((one) => one >= least).length;
  return {
    difference,
    bound: relabelled[Math.ceil((1 - level) * relabellings) - 1] as number,
    chance: (1 + atLeast) / (1 + relabellings),
  };
}

/** Chooses blocks at random (Fisher and Yates), and adds them. It changes the order of `blocks`. */
function addChosen(blocks: Block[], chosen: number, random: () => number, to: Mutable<Share>): void {
  for (let at = 0; at < chosen; at++) {
    const from = at + (random() % (blocks.length - at));
    const block = blocks[from] as Block;
    blocks[from] = blocks[at] as Block;
    blocks[at] = block;
    to.sum += block.sum;
    to.weight += block.weight;
  }
}

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

function sumOf(shares: readonly Share[]): Share {
  const all = { sum: 0, weight: 0 };
  for (const { sum, weight } of shares) {
    all.sum += sum;
    all.weight += weight;
  }
  return all;
}

/** Whole numbers from 1 to 2^32 - 1: Marsaglia, Xorshift RNGs, https://doi.org/10.18637/jss.v008.i14 */
function xorshift(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
