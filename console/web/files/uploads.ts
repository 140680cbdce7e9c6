import { effect, type Signal, signal } from '@preact/signals';
import { countOf } from '../parts/format.ts';
import { announce, toast } from '../parts/toast.tsx';
import { type Problem, toProblem } from '../problem.ts';
import { session } from '../session.ts';
import type { StoredFile } from './file-api.ts';
import { type SendOptions, sendForm } from './send-file.ts';
import { dropUpload, mayRetry, sendInChunks } from './send-in-chunks.ts';
import { forget, type UnfinishedUpload, unfinishedUploads } from './unfinished-uploads.ts';

export type UploadState = 'waiting' | 'sending' | 'paused' | 'done' | 'failed' | 'cancelled';

/** An upload. Uses signals, so that progress only redraws its own bar. */
export interface Upload {
  readonly id: number;
  readonly project: string;
  readonly file: File;
  /** The path with its folder, as dropped. */
  readonly path: string;
  readonly state: Signal<UploadState>;
  readonly sent: Signal<number>;
  /** Bytes a second; 0: not yet known. */
  readonly rate: Signal<number>;
  readonly problem: Signal<Problem | null>;
  /** Path of a resumable upload that has begun. */
  address: string | null;
}

export interface LocalFile {
  readonly file: File;
  readonly path: string;
}

const atOnce = 3;
/**
 * A file of up to one part is sent as a form: one request, which leaves nothing on the server if it fails. Larger files
 * are resumable uploads by tus.
 */
const formBytes = 8 * 1024 * 1024;
/** The weight of the newest speed in the exponential moving average. */
const smoothing = 0.3;
const rateEveryMs = 500;

/** All uploads of this tab, in the order of choice. They continue while other pages are shown. */
export const uploads = signal<readonly Upload[]>([]);

const running = new Map<Upload, AbortController>();
const listeners = new Set<(project: string, file: StoredFile) => void>();
let lastId = 0;

/** Calls back with each stored file. @returns a function to unsubscribe */
export function onStored(listener: (project: string, file: StoredFile) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function addUploads(project: string, chosen: readonly LocalFile[]): void {
  const added = chosen.map(({ file, path }): Upload => {
    lastId += 1;
    return {
      id: lastId,
      project,
      file,
      path,
      state: signal<UploadState>('waiting'),
      sent: signal(0),
      rate: signal(0),
      problem: signal<Problem | null>(null),
      address: null,
    };
  });
  uploads.value = [...uploads.value, ...added];
  startNext();
}

export function cancelUpload(upload: Upload): void {
  if (!isOpen(upload)) return;
  stop(upload, 'cancelled');
  const { address } = upload;
  upload.address = null;
  if (address !== null) void dropUnfinished(address);
}

/** Pauses an upload; the server keeps its bytes. */
export function pauseUpload(upload: Upload): void {
  if (canPause(upload)) stop(upload, 'paused');
}

/** Resumes a paused upload, or retries one; large files continue at the server's offset. */
export function retryUpload(upload: Upload): void {
  if (!canRetry(upload) && upload.state.value !== 'paused') return;
  if (upload.address === null) upload.sent.value = 0;
  upload.rate.value = 0;
  upload.problem.value = null;
  upload.state.value = 'waiting';
  startNext();
}

/** Drops an incomplete upload, here and on the server. */
export async function dropUnfinished(address: string): Promise<void> {
  forget(address);
  // an upload that can't be dropped now expires by itself
  await dropUpload(address).catch(() => {});
}

/** Unfinished uploads of a project that are not in the list. */
export function unfinishedOf(project: string): readonly UnfinishedUpload[] {
  const known = new Set(uploads.value.map(({ address }) => address));
  return unfinishedUploads.value.filter((upload) => upload.project === project && !known.has(upload.address));
}

/** Whether a retry may succeed: not if the server refused the file itself. */
export function canRetry({ state, problem }: Upload): boolean {
  if (state.value !== 'failed' || problem.value === null) return state.value === 'cancelled';
  return mayRetry(problem.value) || [401, 403, 409].includes(problem.value.status);
}

export function canPause(upload: Upload): boolean {
  return isActive(upload) && upload.file.size > formBytes;
}

export function forgetFinished(): void {
  uploads.value = uploads.value.filter(isOpen);
}

/** Being sent, or about to be. */
export function isActive({ state }: Upload): boolean {
  return state.value === 'waiting' || state.value === 'sending';
}

/** Under way or paused. */
export function isOpen(upload: Upload): boolean {
  return isActive(upload) || upload.state.value === 'paused';
}

function stop(upload: Upload, state: 'cancelled' | 'paused'): void {
  upload.state.value = state;
  running.get(upload)?.abort();
  startNext();
}

function startNext(): void {
  for (const upload of uploads.value) {
    if (running.size >= atOnce) return;
    // a stopped and restarted upload begins once its last attempt has ended
    if (upload.state.value === 'waiting' && !running.has(upload)) void run(upload);
  }
}

async function run(upload: Upload): Promise<void> {
  const controller = new AbortController();
  running.set(upload, controller);
  upload.state.value = 'sending';
  try {
    const { project, file } = upload;
    const options = { signal: controller.signal, onProgress: trackProgress(upload) };
    const stored = await (file.size > formBytes
      ? sendLarge(upload, options)
      : sendForm<StoredFile>(project, file, options));
    upload.sent.value = file.size;
    upload.state.value = 'done';
    for (const listener of listeners) {
      listener(project, { ...stored, contentType: file.type || 'application/octet-stream', size: file.size });
    }
  } catch (thrown) {
    // a stopped upload already has its state, and may even be waiting again
    if (!controller.signal.aborted) {
      upload.state.value = 'failed';
      upload.problem.value = toProblem(thrown);
    }
  } finally {
    running.delete(upload);
    startNext();
    if (running.size === 0 && !isOpen(upload)) announceOutcome(upload.project);
  }
}

/** Sends a large file, continuing an unfinished upload of it. */
async function sendLarge(upload: Upload, options: SendOptions): Promise<StoredFile> {
  const { project, file } = upload;
  const { name, size, lastModified } = file;
  upload.address ??=
    unfinishedOf(project).find(
      (known) => known.name === name && known.size === size && known.lastModified === lastModified,
    )?.address ?? null;
  return sendInChunks<StoredFile>(upload, options);
}

function trackProgress(upload: Upload): (sent: number) => void {
  let before: number | null = null;
  let since = 0;
  return (sent) => {
    upload.sent.value = sent;
    const now = performance.now();
    const elapsed = now - since;
    // bytes from an earlier attempt do not count
    if (before !== null && elapsed < rateEveryMs) return;
    if (before !== null) {
      const rate = (Math.max(0, sent - before) / elapsed) * 1000;
      upload.rate.value =
        upload.rate.value === 0 ? rate : upload.rate.value * (1 - smoothing) + rate * smoothing;
    }
    before = sent;
    since = now;
  };
}

function announceOutcome(project: string): void {
  const mine = uploads.value.filter((upload) => upload.project === project);
  const done = mine.filter(({ state }) => state.value === 'done').length;
  const failed = mine.filter(({ state }) => state.value === 'failed').length;
  const words = `${countOf(done, 'file')} uploaded`;
  if (failed === 0 && done > 0) toast(`${words} to ${project}.`);
  else if (failed > 0) announce(`${words}, ${failed} failed.`);
}

window.addEventListener('beforeunload', (event) => {
  if (uploads.value.some(isActive)) event.preventDefault();
});

effect(() => {
  // nothing is sent after a logout; uploads go on after the next login
  if (session.value?.account) return;
  for (const controller of running.values()) controller.abort();
  uploads.value = [];
});
