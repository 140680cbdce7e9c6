import { type Abortable, ask, checked } from './ask.ts';
import type { Client } from './client.ts';
import type { Fields, Flat, NamesOf, RecordOf, Selectable, ShownName, Space, Where } from './space.ts';

/** Records of one span of time, named after its first moment. */
export interface Bucket {
  readonly bucket: 'createdAt' | 'updatedAt';
  readonly every: `${number}${'s' | 'm' | 'h' | 'd' | 'w' | 'mo' | 'y'}`;
  /** Its name in answers; by default the name in `bucket`. */
  readonly as?: string;
  /** Such as `Europe/Paris`; by default UTC. */
  readonly timeZone?: string;
  /** Whether to include buckets without records. */
  readonly fill?: boolean;
}
export type Group<Of extends Fields> = Selectable<Of> | 'id' | Bucket;

type Numbers<Of extends Fields> = NamesOf<Of, 'NUMBER'> & ShownName<Of>;
type Ordered<Of extends Fields> =
  | (NamesOf<Of, 'NUMBER' | 'TEXT'> & ShownName<Of>)
  | 'id'
  | 'createdAt'
  | 'updatedAt';

/** A function of the records of a group (docs/api.md, "Counted and grouped"). */
export type Computed<Of extends Fields> =
  | 'count'
  | { readonly sum: Numbers<Of> }
  | { readonly avg: Numbers<Of> }
  | { readonly min: Ordered<Of> }
  | { readonly max: Ordered<Of> }
  | { readonly distinct: Selectable<Of> | 'id' }
  | { readonly quantile: readonly [field: Numbers<Of>, level: number] };

type NameOf<Of> = Of extends Bucket
  ? Of extends { readonly as: infer As extends string }
    ? As
    : Of['bucket']
  : Of & string;
type ValueOfGroup<Of extends Fields, By> = By extends keyof RecordOf<Of>
  ? RecordOf<Of>[By]
  : By extends Bucket
    ? string
    : unknown;
type ResultOf<Of extends Fields, How> = How extends 'count'
  ? number
  : How extends { readonly min: infer Name } | { readonly max: infer Name }
    ? RecordOf<Of>[Name & keyof RecordOf<Of>] | null
    : number | null;

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

export function aggregate<
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
  return ask(client, space, '/_aggregate_', { body: { ...parts, where: checked(where), sort: by }, signal });
}
