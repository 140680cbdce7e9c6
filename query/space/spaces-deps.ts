import type { Hasher } from '../../common/auth/hasher.ts';
import type { Log } from '../../common/log/log.ts';
import type { Projects } from '../../common/metadata/projects.ts';
import type { Invalidation } from '../../common/redis/invalidation.ts';
import type { Metrics } from '../../common/telemetry/create-metrics.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import type { TableCatalogue } from './table-catalogue.ts';

/** After this no process goes on by a structure that was replaced. Milliseconds. */
export const outdatedAfter = 120_000;

/** Milliseconds: a structure older than `freshFor` is looked up again, and one older than `staleAfter` is not used. */
export interface Freshness {
  readonly freshFor: number;
  readonly staleAfter: number;
  /** When no request that began with a structure goes on any more after it was replaced. */
  readonly outdatedAfter: number;
}

/** What docs/api.md promises. */
export function freshnessOf({ alone }: Pick<RecordStore, 'alone'>): Freshness {
  const forever = Number.POSITIVE_INFINITY;
  // nobody else changes the catalogue
  if (alone) return { freshFor: forever, staleAfter: forever, outdatedAfter };
  return { freshFor: 5_000, staleAfter: 10_000, outdatedAfter };
}

/** Dependencies of everything that finds, makes and changes spaces. */
export interface SpacesDeps {
  readonly store: RecordStore;
  readonly catalogue: TableCatalogue;
  readonly projects: Projects;
  readonly hasher: Hasher;
  readonly newId: () => string;
  readonly writes: InFlightWrites;
  /** Spaces that an account may have. */
  readonly maxSpaces: number;
  readonly log: Pick<Log, 'warn'>;
  /** Announces changes to other processes; absent: they read the catalogue again once their entry is stale. */
  readonly invalidation?: Invalidation | undefined;
  readonly freshness: Freshness;
  readonly metrics: Pick<Metrics, 'cache'>;
}
