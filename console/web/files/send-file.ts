import { address } from '../address.ts';
import { accessToken, apiAddress } from '../api.ts';
import { noAnswer, Problem, problemOf } from '../problem.ts';

export interface SendOptions {
  readonly signal: AbortSignal;
  /** Called with the number of sent bytes of the file. */
  readonly onProgress: (sent: number) => void;
}

/** A request whose body is, or contains, bytes of a file. */
interface ByteRequest {
  readonly method: 'POST' | 'PATCH';
  /** made by `address`, or by the server */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: FormData | Blob;
  readonly file: File;
  /** Bytes of the file in this body. */
  readonly size: number;
}

/** A stalled upload fails after this time. */
const stallMs = 120_000;

/** POST /_f_/{project}/upload */
export async function sendForm<T>(project: string, file: File, options: SendOptions): Promise<T> {
  const body = new FormData();
  body.append('file', file, file.name);
  const path = address`/_f_/${project}/upload`;
  const { responseText } = await sendBytes({ method: 'POST', path, body, file, size: file.size }, options);
  return JSON.parse(responseText) as T;
}

/** Uses XMLHttpRequest, because fetch does not report upload progress. Throws a Problem unless 2xx. */
export async function sendBytes(request: ByteRequest, options: SendOptions): Promise<XMLHttpRequest> {
  const first = await send(request, await accessToken(), options);
  const last =
    first.status === 401 ? await send(request, await accessToken({ renew: true }), options) : first;
  if (last.status >= 200 && last.status < 300) return last;
  throw problemOf(last.status, last.responseText, (name) => last.getResponseHeader(name));
}

/** Browsers report a broken connection and a file that changed since it was chosen alike. */
async function whyUnsent(file: File): Promise<Problem> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return noAnswer();
  } catch {
    const message = 'The file can’t be read: it was changed, moved or deleted. Choose it again.';
    return new Problem(message, { code: 'unreadable' });
  }
}

function send(
  { method, path, headers = {}, body, file, size }: ByteRequest,
  token: string,
  { signal, onProgress }: SendOptions,
): Promise<XMLHttpRequest> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    let stalled = 0;
    const giveUp = (thrown: unknown): void => {
      finish();
      request.abort();
      reject(thrown);
    };
    const aborted = (): void => giveUp(signal.reason);
    const moved = (): void => {
      clearTimeout(stalled);
      stalled = window.setTimeout(
        giveUp,
        stallMs,
        new Problem('The upload stalled for two minutes. Check the connection, then try again.'),
      );
    };
    const finish = (): void => {
      clearTimeout(stalled);
      signal.removeEventListener('abort', aborted);
    };
    signal.addEventListener('abort', aborted);
    request.upload.onprogress = ({ loaded, total }) => {
      moved();
      // do not count the form around the file
      onProgress(Math.max(0, Math.min(size, loaded - Math.max(0, total - size))));
    };
    request.onload = () => {
      finish();
      resolve(request);
    };
    request.onerror = () => void whyUnsent(file).then(giveUp);
    request.open(method, apiAddress(path));
    const all = { ...headers, authorization: `Bearer ${token}`, accept: 'application/json' };
    for (const [name, value] of Object.entries(all)) request.setRequestHeader(name, value);
    moved();
    request.send(body);
  });
}
