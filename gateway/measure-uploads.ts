import type { UploadLedger } from '../common/lifecycle/workers/upload-ledger.ts';
import type { Metrics } from '../common/metrics/create-metrics.ts';
import type { UploadMemory } from './memory/upload-memory.ts';

/** What the gateway adds to the metrics of its process. */
export function measureUploads(
  metrics: Metrics,
  { uploads, memory }: { uploads: UploadLedger; memory: UploadMemory },
): void {
  metrics.gauge(
    'sluice_uploads_in_flight',
    'Uploads whose file has begun, and which are not over',
    () => uploads.open,
  );
  metrics.counter(
    'sluice_uploads_untold_total',
    'Uploads that the supervisor was not told of: the janitor cleans up after them',
    () => uploads.untold,
  );
  metrics.gauge(
    'sluice_upload_memory_used_bytes',
    'Memory that uploads hold; UPLOAD_MEMORY_BYTES is the most',
    () => memory.used,
  );
  metrics.gauge('sluice_uploads_waiting', 'Uploads that wait for memory', () => memory.waiting);
}
