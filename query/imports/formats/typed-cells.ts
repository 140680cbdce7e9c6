/** Values of columns of Parquet and Arrow that JSON has no type for, as the cells that imports read. */
import { roundingOf } from '#kernel/json/rounded-number.ts';
import { dayText, endOfTime, firstTime } from '#records/types/times.ts';

/** Converts a value that a reader returns into the value of a cell. */
export type CellReader = (value: unknown) => unknown;

export function nullable(read: CellReader): CellReader {
  return (value) => (value === null || value === undefined ? null : read(value));
}

/** A value that no field can hold. */
export class UnfitCell {
  /** The end of a sentence about it. */
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** A decimal number with all its digits. */
export class DecimalCell {
  readonly text: string;

  /** @param digits without the point */
  constructor(digits: bigint, scale: number) {
    const sign = digits < 0n ? '-' : '';
    const unsigned = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0');
    this.text =
      scale === 0 ? sign + unsigned : `${sign}${unsigned.slice(0, -scale)}.${unsigned.slice(-scale)}`;
  }

  /** As a double; null: it would be rounded. */
  get number(): number | null {
    const short = this.text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
    const isShort = short.replace(/[-.]/g, '').replace(/^0+/, '').length <= 15;
    return isShort || (!short.includes('.') && roundingOf(short) === null) ? Number(short) : null;
  }
}

/** How many of a unit are a second, as a power of ten. */
export const unitDigits = { s: 0, ms: 3, us: 6, ns: 9 } as const;
export type TimeUnit = keyof typeof unitDigits;

const outOfRange = 'is a time that is out of range';
const secondsOfDay = 86_400;

/** Whole seconds, rounded down, and the digits behind them: none, three, six or nine. */
function splitSeconds(
  value: bigint | number,
  unit: TimeUnit,
): { readonly seconds: bigint; readonly fraction: string } {
  const digits = unitDigits[unit];
  const all = BigInt(value);
  const perSecond = 10n ** BigInt(digits);
  const rest = ((all % perSecond) + perSecond) % perSecond;
  const fraction =
    digits === 0
      ? ''
      : String(rest)
          .padStart(digits, '0')
          .replace(/(?:000)+$/, '');
  return { seconds: (all - rest) / perSecond, fraction };
}

/** A time since 1970 in ISO 8601, with all its digits, and with a Z only in UTC. */
export function timeCell(value: bigint | number, unit: TimeUnit, isUtc: boolean): string | UnfitCell {
  const { seconds, fraction } = splitSeconds(value, unit);
  const milliseconds = Number(seconds) * 1000;
  if (milliseconds < firstTime || milliseconds >= endOfTime) return new UnfitCell(outOfRange);
  const text = new Date(milliseconds).toISOString().slice(0, 19);
  return `${text}.${fraction === '' ? '000' : fraction}${isUtc ? 'Z' : ''}`;
}

/** @param days since 1970 */
export function dayCell(days: number): string | UnfitCell {
  const milliseconds = days * secondsOfDay * 1000;
  if (!(milliseconds >= firstTime && milliseconds < endOfTime)) return new UnfitCell(outOfRange);
  return dayText(milliseconds);
}

/** A time of a day, such as `12:34:56.789`. */
export function timeOfDayCell(value: bigint | number, unit: TimeUnit): string | UnfitCell {
  const { seconds: whole, fraction } = splitSeconds(value, unit);
  const seconds = Number(whole);
  if (seconds < 0 || seconds >= secondsOfDay) return new UnfitCell(outOfRange);
  const two = (part: number): string => String(part).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${two(hours)}:${two(minutes)}:${two(seconds % 60)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** A duration in ISO 8601, such as `PT1.5S`. */
export function durationCell(value: bigint | number, unit: TimeUnit): string {
  const all = BigInt(value);
  const { seconds, fraction } = splitSeconds(all < 0n ? -all : all, unit);
  const digits = fraction.replace(/0+$/, '');
  return `${all < 0n ? '-' : ''}PT${seconds}${digits === '' ? '' : `.${digits}`}S`;
}
