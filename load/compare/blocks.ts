import type { Share } from './figures.ts';

/** Neighbouring seconds of one phase of one run, which are relabelled together. */
export interface Block extends Share {
  readonly stratum: string;
}

/** The seconds of one phase of one run. */
export interface Series {
  readonly stratum: string;
  readonly shares: readonly Share[];
}

/** Seconds of a block at least. */
const shortest = 3;

/**
 * How many neighbouring seconds make a block. Seconds of a run are alike: a pause or a full cache lasts longer than one, and
 * to relabel them one by one would take sixty seconds of one cause for sixty observations. So a block is three times the
 * integrated autocorrelation time, after which seconds are as good as independent.
 */
export function blockLength(series: readonly Series[]): number {
  const centred = series.map(centredValues);
  const longest = Math.max(...centred.map(({ length }) => length));
  const variance = covariance(centred, 0);
  if (!(variance > 0)) return shortest;
  let time = 1;
  for (let lag = 1; lag < longest / 4; lag++) {
    const correlation = covariance(centred, lag) / variance;
    if (correlation < 0.05) break;
    time += 2 * correlation;
  }
  return Math.max(shortest, Math.ceil(3 * time));
}

/** Cuts each phase of each run into blocks of about this many seconds; what is shorter than one is left out. */
export function blocksOf(series: readonly Series[], length: number): Block[] {
  return series.flatMap(({ stratum, shares }) => {
    const number = Math.floor(shares.length / length);
    return Array.from({ length: number }, (_, index) => {
      const from = Math.round((index * shares.length) / number);
      const to = Math.round(((index + 1) * shares.length) / number);
      return { stratum, ...total(shares.slice(from, to)) };
    });
  });
}

export function total(shares: readonly Share[]): Share {
  let [sum, weight] = [0, 0];
  for (const share of shares) {
    sum += share.sum;
    weight += share.weight;
  }
  return { sum, weight };
}

/** What each second is off the mean of its phase. */
function centredValues({ shares }: Series): number[] {
  const { sum, weight } = total(shares);
  const mean = weight === 0 ? 0 : sum / weight;
  return shares.map((share) => share.sum - mean * share.weight);
}

function covariance(series: readonly (readonly number[])[], lag: number): number {
  let [sum, pairs] = [0, 0];
  for (const values of series) {
    for (let at = lag; at < values.length; at++) sum += (values[at] as number) * (values[at - lag] as number);
    pairs += Math.max(0, values.length - lag);
  }
  return pairs === 0 ? 0 : sum / pairs;
}
