import { address } from '../address.ts';
import { callApi, callJson } from '../api.ts';
import { type Problem, toProblem } from '../problem.ts';
import { type SendOptions, sendBytes } from './send-file.ts';
import { forget, remember } from './unfinished-uploads.ts';

/** https://tus.io/protocols/resumable-upload */
const tus = { 'tus-resumable': '1.0.0' };
/** A multiple of the store's part size, and below the 100 MB at which some proxies cut bodies. */
const chunkBytes = 64 * 1024 * 1024;
/** Pauses before retries; they start over once more bytes are stored. */
const pausesMs = [1_000, 3_000, 10_000, 30_000];
const longestPauseMs = 60_000;

/** A resumable upload. */
export interface ChunkTarget {
  readonly project: string;
  readonly file: File;
  /** Path of the upload; null: not yet begun. */
  address: string | null;
}

/** Sends a file by tus from the server's offset, and resumes after failures. */
export async function sendInChunks<T>(target: ChunkTarget, options: SendOptions): Promise<T> {
  let tries = 0;
  let most = 0;
  for (;;) {
    try {
      const offset =
        target.address === null ? await begin(target, options) : await storedOffset(target, options);
      if (offset > most) tries = 0;
      most = Math.max(most, offset);
      return await sendFrom<T>(target, offset, options);
    } catch (thrown) {
      options.signal.throwIfAborted();
      const problem = toProblem(thrown);
      const pause = pausesMs[tries++];
      if (pause === undefined || !mayRetry(problem)) throw problem;
      const requested = Math.min((problem.retryAfter ?? 0) * 1000, longestPauseMs);
      await wait(Math.max(pause, requested), options.signal);
    }
  }
}

/** Drops an upload on the server. */
export async function dropUpload(path: string): Promise<void> {
  await callApi(path, { method: 'DELETE', headers: tus });
}

/** Whether a retry may succeed. */
export function mayRetry({ status, code }: Problem): boolean {
  return code !== 'unreadable' && (status === 0 || status >= 500 || status === 408 || status === 429);
}

/** POST /_f_/{project}/resumable. If the response is lost, the upload expires by itself. */
async function begin(target: ChunkTarget, { signal }: SendOptions): Promise<number> {
  const { project, file } = target;
  const { headers } = await callApi(address`/_f_/${project}/resumable`, {
    method: 'POST',
    headers: { ...tus, 'upload-length': `${file.size}`, 'upload-metadata': metadataOf(file) },
    signal,
  });
  target.address = headers.get('location');
  keep(target, headers.get('upload-expires'));
  return 0;
}

/** HEAD: the offset. Begins again if the upload has expired or was dropped. */
async function storedOffset(target: ChunkTarget, options: SendOptions): Promise<number> {
  try {
    const { signal } = options;
    const { headers } = await callApi(target.address ?? '', { method: 'HEAD', headers: tus, signal });
    return Number(headers.get('upload-offset'));
  } catch (thrown) {
    if (![404, 410].includes(toProblem(thrown).status)) throw thrown;
    forget(target.address ?? '');
    return begin(target, options);
  }
}

async function sendFrom<T>(target: ChunkTarget, from: number, options: SendOptions): Promise<T> {
  const { file } = target;
  const { signal, onProgress } = options;
  const path = target.address ?? '';
  let answer = '';
  for (let offset = from; offset < file.size; offset += chunkBytes) {
    onProgress(offset);
    const body = file.slice(offset, offset + chunkBytes);
    const type = 'application/offset+octet-stream';
    const headers = { ...tus, 'upload-offset': `${offset}`, 'content-type': type };
    const request = await sendBytes(
      { method: 'PATCH', path, headers, body, file, size: body.size },
      { signal, onProgress: (sent) => onProgress(offset + sent) },
    );
    answer = request.responseText;
    if (answer === '') keep(target, request.getResponseHeader('upload-expires'));
  }
  forget(path);
  // the upload was complete, but its last response was lost
  return answer === '' ? callJson<T>(path, { signal }) : (JSON.parse(answer) as T);
}

/** Remembers the upload until Upload-Expires. */
function keep({ project, file, address }: ChunkTarget, expires: string | null): void {
  const { name, size, lastModified } = file;
  if (address !== null && expires !== null) remember({ address, project, name, size, lastModified, expires });
}

/** Upload-Metadata: names, and values in base64. */
function metadataOf({ name, type }: File): string {
  const pairs = { filename: name, ...(type !== '' && { filetype: type }) };
  return Object.entries(pairs)
    .map(([key, value]) => `${key} ${btoa(String.fromCharCode(...new TextEncoder().encode(value)))}`)
    .join(',');
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    const aborted = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', aborted, { once: true });
  });
}
