import type { Hasher } from '../../common/auth/hasher.ts';
import type { Log } from '../../common/log/log.ts';
import type { Projects } from '../../common/metadata/projects.ts';
import type { Invalidation } from '../../common/redis/invalidation.ts';
import type { Metrics } from '../../common/telemetry/create-metrics.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import type { TableCatalogue } from './table-catalogue.ts';

/** Milliseconds: a structure older than `freshFor` is looked up again, and one older than `staleAfter` is not used. */
export interface Freshness {
  readonly freshFor: number;
  readonly staleAfter: number;
  /** When no request that began with a structure goes on any more after it was replaced; absent: 2 minutes. */
  readonly outdatedAfter?: number;
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
  readonly log?: Pick<Log, 'warn'>;
  /** Announces changes to other processes; absent: they read the catalogue again once their entry is stale. */
  readonly invalidation?: Invalidation | undefined;
  /** Absent: as docs/api.md promises. */
  readonly freshness?: Freshness | undefined;
  /** Absent: nobody measures. */
  readonly metrics?: Pick<Metrics, 'cache'> | undefined;
}
