import { type Chunk, type Sat, Sitting, type SittingDeps } from './sitting.ts';
import { finishTimeout, type Progress, type UploadEnds, type UploadEndsDeps } from './upload-ends.ts';
import type { UploadLease } from './upload-leases.ts';
import { isWhole, offsetOf, type UploadState } from './upload-state.ts';

export interface ReceiveChunkDeps extends SittingDeps, UploadEndsDeps {
  readonly store: SittingDeps['store'] & UploadEndsDeps['store'];
  readonly maxUploadBytes: number;
}

/** Takes the bytes of one request, within the quota, and makes a file of the upload when it has all. */
export async function receiveChunk(
  deps: ReceiveChunkDeps,
  {
    ends,
    state,
    lease,
    chunk,
  }: {
    readonly ends: UploadEnds;
    readonly state: UploadState;
    readonly lease: UploadLease;
    readonly chunk: Chunk;
  },
): Promise<Progress> {
  const { maxUploadBytes, quota } = deps;
  const maxBytes = state.maxBytes ?? maxUploadBytes;
  const before = offsetOf(state);
  // without a length what comes is counted as it is saved, where it is
  const most = chunk.body.contentLength ?? (chunk.check === null ? 0 : (state.length ?? maxBytes) - before);
  const signal = AbortSignal.timeout(finishTimeout);
  // bytes of partial uploads count already
  const claimed = state.concat === 'final' ? undefined : quota;
  const counted = await claimed?.claimBytes(state.file.ownerId, most, signal);
  let end = before;
  const onSaved = (offset: number): Error | null => {
    end = offset;
    return counted?.(end - before, false) ?? null;
  };
  let sat: Sat;
  try {
    sat = await new Sitting(deps, { ...chunk, state, lease, maxBytes, onSaved }).run();
    if (sat.stored !== null) end = sat.state.length ?? 0;
  } finally {
    counted?.(end - before, true);
  }
  // it is part of what came
  if (state.rest !== null && sat.state.rest !== state.rest) ends.removeRest(state.rest);
  if (sat.stored !== null) return ends.store(sat.state, sat.stored.crc32, sat.sha256);
  if (isWhole(sat.state)) return ends.finish(sat.state, lease, sat.sha256);
  if (sat.failure !== null) throw sat.failure;
  if (end > before) lease.left = sat.state;
  return { state: sat.state, file: null };
}
