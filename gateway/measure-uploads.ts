import type { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import type { ObjectStore, ObjectWriter } from '#objects/object-store.ts';
import type { RunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import type { UploadMemory } from './memory/upload-memory.ts';

/** Adds the metrics of the gateway. */
export function measureUploads(
  metrics: Metrics,
  args: {
    readonly uploads: RunningUploads;
    readonly memory: UploadMemory;
    /** The limit of `memory`. */
    readonly memoryBytes: number;
    readonly downloads: ReaderSlots;
  },
): void {
  const { uploads, memory, memoryBytes, downloads } = args;
  metrics.gauge(
    'sluice_uploads_in_flight',
    'Uploads whose file has begun and that are under way',
    () => uploads.open,
  );
  metrics.gauge(
    'sluice_upload_memory_used_bytes',
    'Memory held by uploads; the limit is sluice_upload_memory_limit_bytes',
    () => memory.used,
  );
  metrics.gauge('sluice_upload_memory_limit_bytes', 'UPLOAD_MEMORY_BYTES', () => memoryBytes);
  metrics.gauge('sluice_uploads_waiting', 'Uploads waiting for memory', () => memory.waiting);
  metrics.gauge('sluice_downloads_in_flight', 'Downloads that hold a slot', () => downloads.inFlight);
  metrics.gauge(
    'sluice_downloads_waiting',
    'Accounts and addresses waiting for a slot',
    () => downloads.waiting,
  );
}

/** Metrics for the calls of an object store. */
export function countedCalls(metrics: Metrics): { observe: ObserveCall; onRetry: () => void } {
  let retries = 0;
  metrics.counter('sluice_s3_retries_total', 'Retried requests to S3', () => retries);
  return {
    observe: metrics.observeCall,
    onRetry() {
      retries++;
    },
  };
}

/** A store that counts stored parts, stored files and aborted uploads. */
export function measuredStore(store: ObjectStore, metrics: Metrics): ObjectStore {
  const counts = { parts: 0, stored: 0, aborted: 0 };
  metrics.counter('sluice_upload_parts_total', 'Stored parts', () => counts.parts);
  metrics.counter('sluice_uploads_stored_total', 'Stored files', () => counts.stored);
  metrics.counter('sluice_uploads_aborted_total', 'Files begun and then aborted', () => counts.aborted);
  return {
    ...store,
    async create(key, description, signal) {
      return measuredWriter(await store.create(key, description, signal), counts);
    },
    async resume(key, description, written, signal) {
      const writer = await store.resume(key, description, written, signal);
      return {
        ...measuredWriter(writer, counts),
        written: () => writer.written(),
        suspend: () => writer.suspend(),
      };
    },
  };
}

function measuredWriter(
  writer: ObjectWriter,
  counts: { parts: number; stored: number; aborted: number },
): ObjectWriter {
  let over = false;
  const end = (how: 'stored' | 'aborted'): void => {
    if (!over) counts[how]++;
    over = true;
  };
  return {
    async writePart(part) {
      await writer.writePart(part);
      counts.parts++;
    },
    async complete(last) {
      await writer.complete(last);
      if (last.size > 0) counts.parts++;
      end('stored');
    },
    abort() {
      end('aborted');
      return writer.abort();
    },
  };
}
