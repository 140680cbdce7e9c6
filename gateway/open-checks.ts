import type { Locks } from '#coordination/redis/process-lock.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { ProcessServices } from '#process/lifecycle/service.ts';
import type { GatewayStores } from './open-stores.ts';
import { FileChecks, type OnRefused } from './quarantine/file-checks.ts';
import { Scanner } from './scan/scanner.ts';

/** Between two looks for files that wait for the scanner. Milliseconds. */
const longestInterval = 60_000;

/** Null: files are not scanned. */
export function openChecks(
  { config, log, metrics }: ProcessServices,
  {
    store,
    cloudFiles,
    locks,
    onRefused,
  }: Pick<GatewayStores, 'store' | 'cloudFiles'> & {
    readonly locks: Locks;
    readonly onRefused: OnRefused;
  },
): FileChecks | null {
  const { clamdAddress, policy, maxBytes, timeout } = config.scan;
  if (clamdAddress === undefined) return null;
  const scanner = new Scanner({ address: clamdAddress, maxBytes, verdictTimeout: timeout, log });
  measureScans(metrics, scanner);
  return new FileChecks({
    ...{ scanner, policy, cloudFiles, store, onRefused, log },
    lock: locks('scan'),
    // the janitor may find files that wait
    interval: Math.min(config.janitorInterval, longestInterval),
    // no other process uses the embedded stores
    alone: config.clickhouse === undefined,
  });
}

function measureScans(metrics: Metrics, scanner: Scanner): void {
  metrics.counters('sluice_scans_total', 'Files by what the virus scanner said', 'result', () => ({
    ...scanner.counts,
  }));
  metrics.gauge('sluice_scanner_away', '1 while the virus scanner does not answer', () =>
    scanner.isAway ? 1 : 0,
  );
  metrics.gauge('sluice_scans_in_flight', 'Connections to the virus scanner', () => scanner.inFlight);
}
