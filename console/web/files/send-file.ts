import { accessToken, address, apiAddress } from '../api.ts';
import { noAnswer, Problem, problemOf } from '../problem.ts';

export interface SendOptions {
  readonly signal: AbortSignal;
  /** Bytes of the file that have left. */
  readonly onProgress: (sent: number) => void;
}

/** A connection on which nothing has moved for so long is given up. */
const stallMs = 120_000;

/** POST /_f_/{project}/upload. XMLHttpRequest, because fetch does not say how much it has sent. */
export async function sendFile<T>(project: string, file: File, options: SendOptions): Promise<T> {
  const first = await post(project, file, await accessToken(), options);
  const last =
    first.status === 401 ? await post(project, file, await accessToken({ renew: true }), options) : first;
  if (last.status >= 200 && last.status < 300) return JSON.parse(last.responseText) as T;
  throw problemOf(last.status, last.responseText, (name) => last.getResponseHeader(name));
}

/** A browser says the same of a connection that broke and of a file that is not what it was when it was chosen. */
async function whyUnsent(file: File): Promise<Problem> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return noAnswer();
  } catch {
    const message = 'The file can’t be read: it was changed, moved or deleted since. Choose it again.';
    return new Problem(message, { code: 'unreadable' });
  }
}

function post(
  project: string,
  file: File,
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
        new Problem('The upload stood still for two minutes. Check the connection, then try again.'),
      );
    };
    const finish = (): void => {
      clearTimeout(stalled);
      signal.removeEventListener('abort', aborted);
    };
    signal.addEventListener('abort', aborted);
    request.upload.onprogress = ({ loaded, total }) => {
      moved();
      // the form around the file is counted, too
      onProgress(Math.max(0, Math.min(file.size, loaded - Math.max(0, total - file.size))));
    };
    request.onload = () => {
      finish();
      resolve(request);
    };
    request.onerror = () => void whyUnsent(file).then(giveUp);
    request.open('POST', apiAddress(address`/_f_/${project}/upload`));
    request.setRequestHeader('authorization', `Bearer ${token}`);
    request.setRequestHeader('accept', 'application/json');
    const form = new FormData();
    form.append('file', file, file.name);
    moved();
    request.send(form);
  });
}
