/** What a number that the caller gives may be. */
interface Limit {
  readonly least: number;
  readonly most: number;
  readonly isWhole: boolean;
}

const whole = (least: number, most: number): Limit => ({ least, most, isWhole: true });
/** Above 0. */
const upTo = (most: number): Limit => ({ least: Number.MIN_VALUE, most, isWhole: false });

const limits = {
  rate: upTo(1e7),
  concurrency: whole(1, 100_000),
  // a timer of Node waits 24 days at most, and a confirmation of a capacity lasts six times as long
  seconds: upTo(300_000),
  workers: whole(1, 256),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  inFlight: whole(1, 1_000_000),
  /** Milliseconds. */
  timeout: upTo(86_400_000),
  /** A share. */
  verify: { least: 0, most: 1, isWhole: false },
} satisfies Record<string, Limit>;

export type LimitedName = keyof typeof limits;

/** Throws a sentence for a number that is out of its limits. @param unit by which the number is divided in the sentence */
export function checkLimit(
  name: LimitedName,
  value: number,
  { shown = name as string, given = `${value}`, unit = 1 } = {},
): void {
  const { least, most, isWhole } = limits[name];
  if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return;
  const range =
    least === Number.MIN_VALUE ? `above 0, at most ${most / unit}` : `from ${least} to ${most / unit}`;
  throw new Error(`${shown} is ${given}, and must be a ${isWhole ? 'whole ' : ''}number ${range}`);
}

/** Throws a sentence for the first of these that is out of its limits. */
export function checkLimits(options: { readonly [Name in LimitedName]?: unknown }): void {
  for (const name of Object.keys(limits) as LimitedName[]) {
    const value = options[name];
    if (value !== undefined)
      checkLimit(name, typeof value === 'number' ? value : Number.NaN, { given: `${value}` });
  }
}
