import { Histogram, type Registry } from 'prom-client';

/** Kinds of work that one statement does for several requests. */
export type BatchName =
  | 'record_lookups'
  | 'record_finds'
  | 'record_inserts'
  | 'record_changes'
  | 'file_inserts'
  | 'file_lookups';

/** Powers of two: one request, up to the most that a statement takes. */
const buckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Counts how many requests share a statement. */
export function measureBatches(registry: Registry): (name: BatchName) => (requests: number) => void {
  const sizes = new Histogram({
    name: 'sluice_batch_requests',
    help: 'Requests that one statement was made for: look-ups of records and files, and group commits',
    labelNames: ['batch'],
    buckets,
    registers: [registry],
  });
  return (batch) => (requests) => sizes.observe({ batch }, requests);
}
