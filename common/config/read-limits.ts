import type { RequestLimits } from '../rate-limits/request-limiter.ts';
import type { EnvReader } from './validators.ts';

/** What an account may store. 0: no limit. */
export interface StorageQuota {
  readonly files: number;
  readonly bytes: number;
}

/** Requests that a token, or an address, may send. Off by default. */
export function readRequestLimits(reader: EnvReader, sender: 'TOKEN' | 'ADDRESS'): RequestLimits {
  return {
    rate: reader.integer(`${sender}_RATE`, 0, 0, 1_000_000),
    burst: reader.integer(`${sender}_BURST`, 100, 1, 1_000_000),
    inFlight: reader.integer(`${sender}_MAX_IN_FLIGHT`, 0, 0, 1_000_000),
  };
}

export function readStorageQuota(reader: EnvReader): StorageQuota {
  return {
    files: reader.integer('MAX_STORED_FILES', 0, 0, 1_000_000_000),
    bytes: reader.integer('MAX_STORED_BYTES', 0, 0, 2 ** 50),
  };
}
