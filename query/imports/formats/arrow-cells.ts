import { type DataType, DateUnit, IntervalUnit, Type, TimeUnit as Unit } from '@uwdata/flechette';
import type { TypedField } from '#records/types/field-types.ts';
import { fileDecimal, fileTypes } from '#records/types/file-types.ts';
import { intervalText } from './interval-text.ts';
import {
  type CellReader,
  DecimalCell,
  dayCell,
  durationCell,
  nullable,
  type TimeUnit,
  timeCell,
  timeOfDayCell,
  UnfitCell,
} from './typed-cells.ts';

const millisecondsOfDay = 86_400_000;
const units: Readonly<Record<number, TimeUnit>> = {
  [Unit.SECOND]: 's',
  [Unit.MILLISECOND]: 'ms',
  [Unit.MICROSECOND]: 'us',
  [Unit.NANOSECOND]: 'ns',
};

/** The type that an Arrow file says of a column; null: texts, which may be JSON, or no values at all. */
export function arrowType(type: DataType): TypedField | null {
  switch (type.typeId) {
    case Type.Bool:
      return fileTypes.boolean;
    case Type.Int:
      return type.bitWidth < 64 ? fileTypes.int : fileTypes.long;
    case Type.Float:
      return fileTypes.double;
    case Type.Decimal:
      return fileDecimal(type.precision, type.scale);
    case Type.Date:
      return fileTypes.day;
    case Type.Timestamp:
      return fileTypes.time;
    case Type.List:
    case Type.LargeList:
    case Type.ListView:
    case Type.LargeListView:
    case Type.FixedSizeList:
      return fileTypes.list;
    case Type.Struct:
    case Type.Map:
      return fileTypes.struct;
    case Type.Dictionary:
      return arrowType(type.dictionary);
    case Type.RunEndEncoded:
      return arrowType(type.children[1].type);
    default:
      return null;
  }
}

/** Converts the values of a type that the package reads; null: they stay as they are. */
export function arrowReader(type: DataType): CellReader | null {
  switch (type.typeId) {
    case Type.Decimal:
      return nullable((value) => new DecimalCell(BigInt(value as bigint | number), type.scale));
    case Type.Date:
      return nullable((value) => dayOf(value as number, type.unit === DateUnit.DAY));
    case Type.Timestamp: {
      const unit = unitOf(type.unit);
      const isUtc = type.timezone !== null && type.timezone !== '';
      return nullable((value) => timeCell(value as bigint, unit, isUtc));
    }
    case Type.Time: {
      const unit = unitOf(type.unit);
      return nullable((value) => timeOfDayCell(value as bigint | number, unit));
    }
    case Type.Duration: {
      const unit = unitOf(type.unit);
      return nullable((value) => durationCell(value as bigint, unit));
    }
    case Type.Interval:
      return nullable((value) => intervalOf(value, type.unit));
    case Type.Dictionary:
      return arrowReader(type.dictionary);
    case Type.RunEndEncoded:
      return arrowReader(type.children[1].type);
    case Type.List:
    case Type.LargeList:
    case Type.ListView:
    case Type.LargeListView:
    case Type.FixedSizeList: {
      const item = type.children[0].type;
      const read = arrowReader(item);
      // the package returns bytes, which would count as a text
      const areBytes = item.typeId === Type.Int && item.bitWidth === 8 && !item.signed;
      if (read === null && !areBytes) return null;
      return nullable((value) => Array.from(value as ArrayLike<unknown>, read ?? ((item) => item)));
    }
    case Type.Struct:
      return structReader(type.children);
    case Type.Map:
      return mapReader(type.children[0].type);
    case Type.Union:
      // the package does not say which of its types a value has
      return type.children.some(({ type }) => arrowReader(type) !== null)
        ? nullable(() => new UnfitCell('is of one of several types, which no field holds'))
        : null;
    default:
      return null;
  }
}

function structReader(
  fields: readonly { readonly name: string; readonly type: DataType }[],
): CellReader | null {
  const readers = new Map(fields.map(({ name, type }) => [name, arrowReader(type)]));
  if ([...readers.values()].every((read) => read === null)) return null;
  return nullable((value) =>
    Object.fromEntries(
      Object.entries(value as object).map(([name, item]) => [
        name,
        readers.get(name)?.(item) ?? item ?? null,
      ]),
    ),
  );
}

function mapReader(entry: DataType): CellReader | null {
  const [key, item] = entry.typeId === Type.Struct ? entry.children : [];
  if (key === undefined || item === undefined) return null;
  const [readKey, read] = [arrowReader(key.type), arrowReader(item.type)];
  if (readKey === null && read === null) return null;
  return nullable((value) => {
    const entries = [...(value as ReadonlyMap<unknown, unknown>)];
    return new Map(entries.map(([one, other]) => [readKey?.(one) ?? one, read?.(other) ?? other]));
  });
}

/** @param value milliseconds since 1970 */
function dayOf(value: number, isDay: boolean): string | UnfitCell {
  // a date in milliseconds may have a time of day, which is not lost in silence
  return isDay || value % millisecondsOfDay === 0
    ? dayCell(value / millisecondsOfDay)
    : timeCell(value, 'ms', false);
}

function unitOf(unit: number): TimeUnit {
  return units[unit] ?? 'ms';
}

/** @param value as the package returns it: months, days and milliseconds, or months, days and nanoseconds */
function intervalOf(value: unknown, unit: number): string {
  if (unit === IntervalUnit.YEAR_MONTH) return intervalText(Number(value), 0, 0);
  const parts = Array.from(value as ArrayLike<number>, Number);
  const [first = 0, second = 0, third = 0] = parts;
  return unit === IntervalUnit.DAY_TIME
    ? intervalText(0, first, second / 1000)
    : intervalText(first, second, third / 1e9);
}
