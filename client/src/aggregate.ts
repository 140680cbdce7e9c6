import { type Abortable, ask, checked, type Readers, readersOf, revived } from './ask.ts';
import type { Client } from './client.ts';
import type { Fields, Flat, NamesOf, RecordOf, Selectable, ShownName, Space, Where } from './space.ts';

interface BucketOf<Name> {
  readonly bucket: Name;
  readonly every: `${number}${'s' | 'm' | 'h' | 'd' | 'w' | 'mo' | 'y'}`;
  /** Its name in answers; by default the name in `bucket`. */
  readonly as?: string;
  /** Whether to include buckets without records. */
  readonly fill?: boolean;
}
/** Records of one span of time, named after its first moment. */
export type Bucket<Of extends Fields = Fields> =
  | (BucketOf<SystemTime | (NamesOf<Of, 'DATETIME'> & ShownName<Of>)> & {
      /** Such as `Europe/Paris`; by default UTC. A DATE has none. */
      readonly timeZone?: string;
    })
  | (BucketOf<NamesOf<Of, 'DATE'> & ShownName<Of>> & { readonly timeZone?: undefined });
export type Group<Of extends Fields> = Selectable<Of> | 'id' | Bucket<Of>;

type SystemTime = 'createdAt' | 'updatedAt';
type ExactType = 'BIGINT' | 'DECIMAL';
type NumberType = 'NUMBER' | 'INTEGER' | ExactType;
type Numbers<Of extends Fields> = NamesOf<Of, NumberType> & ShownName<Of>;
type Ordered<Of extends Fields> =
  | (NamesOf<Of, NumberType | 'TEXT' | 'DATETIME' | 'DATE'> & ShownName<Of>)
  | 'id'
  | SystemTime;

/** A function of the records of a group (docs/api.md, "Counted and grouped"). */
export type Computed<Of extends Fields> =
  | 'count'
  | { readonly sum: Numbers<Of> }
  | { readonly avg: Numbers<Of> }
  | { readonly min: Ordered<Of> }
  | { readonly max: Ordered<Of> }
  | { readonly distinct: Selectable<Of> | 'id' }
  | { readonly quantile: readonly [field: Numbers<Of>, level: number] };

type NameOf<Of> = Of extends { readonly bucket: infer Name extends string }
  ? Of extends { readonly as: infer As extends string }
    ? As
    : Name
  : Of & string;
type ValueOfGroup<Of extends Fields, By> = By extends keyof RecordOf<Of>
  ? RecordOf<Of>[By]
  : By extends { readonly bucket: infer Name }
    ? RecordOf<Of>[Name & keyof RecordOf<Of>]
    : unknown;
type ValueOfExact<Of extends Fields, Name> =
  Name extends NamesOf<Of, 'BIGINT'> ? bigint : Name extends NamesOf<Of, 'DECIMAL'> ? string : number;
type ResultOf<Of extends Fields, How> = How extends 'count'
  ? number
  : How extends { readonly min: infer Name } | { readonly max: infer Name }
    ? RecordOf<Of>[Name & keyof RecordOf<Of>] | null
    : How extends { readonly sum: infer Name } | { readonly quantile: readonly [infer Name, number] }
      ? ValueOfExact<Of, Name> | null
      : How extends { readonly avg: NamesOf<Of, ExactType> }
        ? string | null
        : number | null;

/** How values are read that are those of a field. */
function readersOfGroups(
  space: Space,
  groups: readonly unknown[],
  values: Readonly<Record<string, unknown>>,
): Readers {
  const readers = new Map(readersOf(space));
  const same = ['sum', 'min', 'max', 'quantile'];
  const computed = Object.entries(values).map(([name, how]) => {
    const [[of = '', field = ''] = []] = how === 'count' ? [] : Object.entries(how as object);
    return [name, same.includes(of) ? [field].flat()[0] : ''];
  });
  return [...groups.map((name) => [name, name]), ...computed].flatMap(([name, field]) => {
    const read = readers.get(field as string);
    return read ? [[name as string, read] as const] : [];
  });
}

/** A group of an answer. */
export type GroupOf<Of extends Fields, By extends Group<Of>, Values> = Flat<
  { readonly [One in By as NameOf<One>]: ValueOfGroup<Of, One> } & {
    readonly [Name in keyof Values]: ResultOf<Of, Values[Name]>;
  }
>;

interface Having {
  readonly eq?: unknown;
  readonly ne?: unknown;
  readonly gt?: unknown;
  readonly gte?: unknown;
  readonly lt?: unknown;
  readonly lte?: unknown;
  readonly exists?: boolean;
}

export interface AggregateOptions<Of extends Fields, By extends Group<Of>, Values> extends Abortable {
  readonly where?: Where<Of>;
  /** Without it all records are one group. */
  readonly groupBy?: readonly By[];
  readonly values?: Values;
  readonly having?: { readonly [Name in keyof Values]?: Having };
  /** A minus means descending. */
  readonly sort?: readonly (
    | NameOf<By>
    | (keyof Values & string)
    | `-${NameOf<By> | (keyof Values & string)}`
  )[];
  /** By default 100, at most 10,000. */
  readonly limit?: number;
}

export async function aggregate<
  Of extends Fields,
  const By extends Group<Of> = never,
  const Values extends Readonly<Record<string, Computed<Of>>> = Readonly<Record<never, 'count'>>,
>(
  client: Client,
  space: Space<Of>,
  { signal, where, sort, ...parts }: AggregateOptions<Of, By, Values>,
): Promise<GroupOf<Of, By, Values>[]> {
  const by = (sort as readonly string[] | undefined)?.map((name) =>
    name[0] === '-' ? { by: name.slice(1), order: 'desc' } : { by: name },
  );
  const body = { ...parts, where: checked(where), sort: by };
  const groups = await ask<GroupOf<Of, By, Values>[]>(client, space, '/_aggregate_', { body, signal });
  return revived(readersOfGroups(space, parts.groupBy ?? [], parts.values ?? {}), groups);
}
