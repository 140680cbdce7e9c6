/** An axis: where values lie on it, from 0 to 1, and which are marked. */
export interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

/** From 0 to `most` or a little more. */
export function linearScale(most: number): Scale {
  const rough = (most > 0 ? most : 1) / 4;
  const step = roundUp(rough);
  const steps = Math.max(1, Math.ceil(most / step - 1e-9));
  return {
    at: (value) => value / (steps * step),
    ticks: Array.from({ length: steps + 1 }, (_, index) => index * step),
  };
}

/** From `least` or a little less to `most` or a little more; both are above 0. */
export function logarithmicScale(least: number, most: number): Scale {
  const from = roundDown(least);
  const to = Math.max(roundUp(most), roundUp(from * 2));
  const decades = Math.log10(to / from);
  const steps = decades > 3 ? [1] : [1, 2, 5];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++)
    for (const step of steps) ticks.push(Number(`${step}e${power}`));
  return {
    at: (value) => Math.log10(value / from) / decades,
    ticks: ticks.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001),
  };
}

const secondSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];

/** Of seconds, from 0 to exactly `seconds`. */
export function timeScale(seconds: number): Scale {
  const step = secondSteps.find((one) => seconds / one <= 6) ?? Math.ceil(seconds / 6 / 86_400) * 86_400;
  const ticks = Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => index * step);
  return { at: (value) => value / seconds, ticks };
}

/** The next of 1, 2, 5, 10, 20 and so on. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const factor = [1, 2, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return factor * power;
}

function roundDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const factor = [5, 2, 1].find((one) => one * power <= value * (1 + 1e-9)) ?? 1;
  return factor * power;
}
