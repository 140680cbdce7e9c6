import { effect, type Signal, signal } from '@preact/signals';
import { countOf } from '../parts/format.ts';
import { announce, toast } from '../parts/toast.tsx';
import { type Problem, toProblem } from '../problem.ts';
import { session } from '../session.ts';
import type { StoredFile } from './file-api.ts';
import { sendFile } from './send-file.ts';

export type UploadState = 'waiting' | 'sending' | 'done' | 'failed' | 'cancelled';

/** A file on its way. Signals, so that a step of one bar draws that bar alone. */
export interface Upload {
  readonly id: number;
  readonly project: string;
  readonly file: File;
  /** With its folder, as it was dropped. */
  readonly path: string;
  readonly state: Signal<UploadState>;
  readonly sent: Signal<number>;
  /** Bytes a second; 0 until it is known. */
  readonly rate: Signal<number>;
  readonly problem: Signal<Problem | null>;
}

export interface ChosenFile {
  readonly file: File;
  readonly path: string;
}

const atOnce = 3;
/** Of the time since the last step: how much the newest speed counts. */
const smoothing = 0.3;
const rateEveryMs = 500;

/** All of this page's uploads, in the order they were chosen. They go on while other pages are open. */
export const uploads = signal<readonly Upload[]>([]);

const running = new Map<Upload, AbortController>();
const listeners = new Set<(project: string, file: StoredFile) => void>();
let lastId = 0;

/** Calls back with each file that is stored. @returns ends that */
export function onStored(listener: (project: string, file: StoredFile) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function addUploads(project: string, chosen: readonly ChosenFile[]): void {
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
    };
  });
  uploads.value = [...uploads.value, ...added];
  startNext();
}

export function cancelUpload(upload: Upload): void {
  if (!isActive(upload)) return;
  upload.state.value = 'cancelled';
  running.get(upload)?.abort();
  startNext();
}

export function retryUpload(upload: Upload): void {
  if (!canRetry(upload)) return;
  upload.sent.value = 0;
  upload.rate.value = 0;
  upload.problem.value = null;
  upload.state.value = 'waiting';
  startNext();
}

/** Whether another try may end in another way: not where the server refuses this file as it is. */
export function canRetry({ state, problem }: Upload): boolean {
  if (state.value !== 'failed') return state.value === 'cancelled';
  const { status = 0, code = '' } = problem.value ?? {};
  return code !== 'unreadable' && (status === 0 || status >= 500 || [401, 403, 408, 429].includes(status));
}

/** Takes those away that are over. */
export function forgetFinished(): void {
  uploads.value = uploads.value.filter(isActive);
}

export function isActive({ state }: Upload): boolean {
  return state.value === 'waiting' || state.value === 'sending';
}

function startNext(): void {
  for (const upload of uploads.value) {
    if (running.size >= atOnce) return;
    // one that was cancelled and is wanted again begins when its last try has ended
    if (upload.state.value === 'waiting' && !running.has(upload)) void run(upload);
  }
}

async function run(upload: Upload): Promise<void> {
  const controller = new AbortController();
  running.set(upload, controller);
  upload.state.value = 'sending';
  const onProgress = measured(upload);
  try {
    const { project, file } = upload;
    const stored = await sendFile<StoredFile>(project, file, { signal: controller.signal, onProgress });
    upload.sent.value = file.size;
    upload.state.value = 'done';
    for (const listener of listeners) {
      listener(project, { ...stored, contentType: file.type || 'application/octet-stream', size: file.size });
    }
  } catch (thrown) {
    // a cancelled one says so already, and may even wait for its next try
    if (!controller.signal.aborted) {
      upload.state.value = 'failed';
      upload.problem.value = toProblem(thrown);
    }
  } finally {
    running.delete(upload);
    startNext();
    if (running.size === 0) sayWhatBecame(upload.project);
  }
}

function measured(upload: Upload): (sent: number) => void {
  let before = 0;
  let since = performance.now();
  return (sent) => {
    upload.sent.value = sent;
    const now = performance.now();
    const elapsed = now - since;
    if (elapsed < rateEveryMs) return;
    const rate = ((sent - before) / elapsed) * 1000;
    upload.rate.value =
      upload.rate.value === 0 ? rate : upload.rate.value * (1 - smoothing) + rate * smoothing;
    before = sent;
    since = now;
  };
}

function sayWhatBecame(project: string): void {
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
  // who has logged out sends nothing more
  if (session.value?.account) return;
  for (const upload of uploads.peek()) cancelUpload(upload);
  uploads.value = [];
});
