import type { SharedLoginStates } from '#auth/shared-login-states.ts';
import type { SingleUses } from '#auth/single-uses.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import type { Config } from '#kernel/config/read-config.ts';
import type { Mails } from '#kernel/record-events/mail.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { ProcessServices } from '#process/lifecycle/service.ts';
import type { Throttle } from '#records/hash-checks.ts';
import type { WritableStore } from '#records/store/record-store.ts';
import type { UniqueReservations } from '#records/unique/unique-reservations.ts';
import type { StoredFiles } from './imports/jobs/stored-files.ts';
import type { SpacesParts } from './space/spaces-deps.ts';

/** What the query service works with: the services of its process, and its stores. */
export interface QueryEnvironment
  extends Omit<SpacesParts, 'newId' | 'writes' | 'maxSpaces' | 'knownBytes' | 'metrics' | 'log'>,
    Pick<ProcessServices, 'database' | 'authenticate' | 'authenticateAgain' | 'fileSenders' | 'log'> {
  readonly metrics: Pick<Metrics, 'cache' | 'reads' | 'gauge' | 'counter' | 'durations'>;
  readonly config: Pick<
    Config,
    | 'maxSpaces'
    | 'maxRecordBytes'
    | 'maxRecordsBytes'
    | 'maxStoredRecordBytes'
    | 'allowClearAllSpaces'
    | 'loginTokenSecret'
    | 'loginTokenTtl'
    | 'mailsPerHour'
    | 'publicUrl'
    | 'readMaxRows'
    | 'readLimits'
    | 'dataDir'
    | 'recordCacheBytes'
    | 'maxImportBytes'
    | 'liveMaxStreams'
    | 'liveMaxTokenStreams'
    | 'webhookPrivateNetworks'
    | 'fileLinks'
    | 'imagePresets'
    | 'tls'
  >;
  readonly store: WritableStore;
  readonly events: RecordEvents & Mails;
  /** For the limits of mails; absent: this process counts by itself. */
  readonly redis?: RedisConnection | undefined;
  readonly now: () => number;
  /** Slows down guesses of passwords. */
  readonly throttle: Throttle;
  readonly reservations: UniqueReservations;
  readonly usage: Pick<UsageCounts, 'add' | 'of'>;
  readonly files: StoredFiles;
  /** Of this server, for browsers, without trailing slash. */
  readonly baseUrl: () => string;
  readonly uses: SingleUses;
  /** Absent: no other process needs to learn of ended logins. */
  readonly loginStates?: SharedLoginStates | undefined;
}
