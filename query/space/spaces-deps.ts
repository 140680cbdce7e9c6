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

/** The space that a request names, and what the request does to it. */
export interface SpaceRequest extends SpacePath {
  readonly ownerId: string;
  /** Null: use the stored structure. */
  readonly structure: Structure | null;
  readonly headers: RecordHeaders;
  /** Whether to make a missing space. A space with initial records is always made. */
  readonly makes: boolean;
  /** Whether the request may write values of records. */
  readonly stores: boolean;
  /** Whether the request may write or delete records. */
  readonly changes: boolean;
  /** Called with the space's id at the moment when the structure of the request is decided. */
  readonly onOpened?: ((spaceId: string) => void) | undefined;
}

/** Milliseconds after which no request still uses a replaced structure. */
export const outdatedAfter = 120_000;
/** Milliseconds after which a process that changes types of fields counts as dead. */
const abandonedAfter = 75_000;

/** Milliseconds: a structure older than `freshFor` is looked up again, and one older than `staleAfter` is not used. */
export interface SpaceTimes {
  readonly freshFor: number;
  readonly staleAfter: number;
  /** When every process has heard of an announced change. */
  readonly heardAfter: number;
  /** When no request still uses a replaced structure. */
  readonly outdatedAfter: number;
  /** The same for requests of other processes, and when a type change that one of them began is abandoned. */
  readonly others: { readonly outdatedAfter: number; readonly abandonedAfter: number };
}

/** Milliseconds after which no process uses an entry whose change was announced, even if it missed the message. */
const announcedAfter = 1_000;

/** The promises of docs/api.md. */
export function freshnessOf(
  { singleWriter }: Pick<RecordStore, 'singleWriter'>,
  invalidation: Invalidation,
): SpaceTimes {
  const forever = Number.POSITIVE_INFINITY;
  // no other process changes the catalogue
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
  /** Capacity of the cache of spaces, in bytes. */
  readonly knownBytes: number;
  readonly log: Pick<Log, 'warn'>;
  readonly invalidation: Invalidation;
  readonly freshness: SpaceTimes;
  readonly metrics: Pick<Metrics, 'cache' | 'reads'>;
  /** The base of the addresses of a project's files. */
  readonly fileLinks: (place: { readonly ownerId: string; readonly projectSlug: string }) => string;
}
