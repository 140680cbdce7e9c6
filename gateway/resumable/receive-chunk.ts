import { noQuota } from '../access/storage-quota.ts';
import { type Chunk, ChunkReceiver, type ChunkReceiverDeps, type ReceivedChunk } from './chunk-receiver.ts';
import { finishTimeout, type Progress, type UploadEnds, type UploadEndsDeps } from './upload-ends.ts';
import type { UploadLease } from './upload-leases.ts';
import { isWhole, offsetOf, type UploadState } from './upload-state.ts';

export interface ReceiveChunkDeps extends ChunkReceiverDeps, UploadEndsDeps {
  readonly store: ChunkReceiverDeps['store'] & UploadEndsDeps['store'];
  readonly maxUploadBytes: number;
}

/** Receives the bytes of one request, within the quota, and makes a file of a complete upload. */
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
  // without a length, bytes count as they are saved; with a check nothing is saved before the end: claim the most
  // possible
  const most = chunk.body.contentLength ?? (chunk.check === null ? 0 : (state.length ?? maxBytes) - before);
  const signal = AbortSignal.timeout(finishTimeout);
  await ends.assertAllowed(state, signal);
  // the bytes of partial uploads are counted already
  const claimed = state.concat === 'final' ? noQuota : quota;
  const counted = await claimed.claimBytes(state.file.ownerId, most, signal);
  let end = before;
  const onSaved = (offset: number): Error | null => {
    end = offset;
    return counted(end - before, false);
  };
  let received: ReceivedChunk;
  try {
    received = await new ChunkReceiver(deps, { ...chunk, state, lease, maxBytes, onSaved }).run();
    if (received.stored !== null) end = received.state.length ?? 0;
  } finally {
    counted(end - before, true);
  }
  // the new part begins with these bytes
  if (state.rest !== null && received.state.rest !== state.rest) ends.removeRest(state.rest);
  if (received.stored !== null) return ends.store(received.state, received.stored.crc32, received.sha256);
  if (isWhole(received.state)) return ends.finish(received.state, lease, received.sha256);
  if (received.failure !== null) throw received.failure;
  if (end > before) lease.stateAfter = received.state;
  return { state: received.state, file: null };
}
