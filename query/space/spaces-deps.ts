import type { Hasher } from '#auth/hasher.ts';
import type { Projects } from '#catalogue/projects.ts';
import type { Invalidation } from '#coordination/redis/invalidation.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';
import type { RecordHeaders } from '../input/record-headers.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import type { TableCatalogue } from './table-catalogue.ts';

/** Of which space a request speaks, and how. */
export interface SpaceRequest extends SpacePath {
  readonly ownerId: string;
  /** Null: the stored structure is to be used. */
  readonly structure: Structure | null;
  readonly headers: RecordHeaders;
  /** Whether a space that does not exist is made; one that begins with records always is. */
  readonly makes: boolean;
  /** Whether it may write values of records. */
  readonly stores: boolean;
  /** The same, or delete records. */
  readonly changes: boolean;
  /** Called with the space's id in the moment in which it is decided which structure counts. */
  readonly onOpened?: ((spaceId: string) => void) | undefined;
}

/** After this no request still uses a replaced structure. Milliseconds. */
export const outdatedAfter = 120_000;
/** After this a process that changes the types of fields counts as dead. */
const abandonedAfter = 75_000;

/** Milliseconds: a structure older than `freshFor` is looked up again, and one older than `staleAfter` is not used. */
export interface SpaceTimes {
  readonly freshFor: number;
  readonly staleAfter: number;
  /** When every process goes by a change that was announced. */
  readonly heardAfter: number;
  /** When no request that began with a structure goes on any more after it was replaced. */
  readonly outdatedAfter: number;
  /** The same of the requests of other processes, and when a change of types that one of them began is given up. */
  readonly others: { readonly outdatedAfter: number; readonly abandonedAfter: number };
}

/** After this no process uses an entry whose change was announced, even if it missed the message. Milliseconds. */
const announcedAfter = 1_000;

/** The promises of docs/api.md. */
export function freshnessOf(
  { singleWriter }: Pick<RecordStore, 'singleWriter'>,
  invalidation: Invalidation,
): SpaceTimes {
  const forever = Number.POSITIVE_INFINITY;
  // nobody else changes the catalogue
  if (singleWriter) {
    const others = { outdatedAfter: 0, abandonedAfter: 0 };
    return { freshFor: forever, staleAfter: forever, heardAfter: 0, outdatedAfter, others };
  }
  const staleAfter = 10_000;
  const heardAfter = invalidation.announces ? announcedAfter : staleAfter;
  const others = { outdatedAfter, abandonedAfter };
  return { freshFor: 5_000, staleAfter, heardAfter, outdatedAfter, others };
}

export interface SpacesParts {
  readonly store: RecordStore;
  readonly catalogue: TableCatalogue;
  readonly projects: Projects;
  readonly hasher: Hasher;
  readonly newId: () => string;
  readonly writes: InFlightWrites;
  readonly maxSpaces: number;
  /** Bytes of spaces that are kept in memory. */
  readonly knownBytes: number;
  readonly log: Pick<Log, 'warn'>;
  readonly invalidation: Invalidation;
  readonly freshness: SpaceTimes;
  readonly metrics: Pick<Metrics, 'cache' | 'reads'>;
}
