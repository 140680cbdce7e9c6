import { backOff, type Client, eitherOf, SluiceError, send } from './client.ts';
import type { FileOrName } from './files.ts';
import { pathOfFile } from './path-of-file.ts';

export interface DownloadOptions {
  readonly signal?: AbortSignal;
  /** The number of bytes that you already have. By default 0. */
  readonly from?: number;
  /** The ETag of these bytes' file: another file is refused. */
  readonly etag?: string;
}

export interface Download {
  /** Resumes by itself after a cut. `new Response(stream)` reads it as a whole. */
  readonly stream: ReadableStream<Uint8Array>;
  /** The size of the whole file; undefined: unknown. */
  readonly size: number | undefined;
  readonly type: string;
  readonly etag: string;
}

/** Milliseconds without a byte after which a connection counts as cut. */
const timeout = 60_000;

/** Downloads a file. The stream fails with `file_changed` if the rest would be of another file. */
export async function download(
  client: Client,
  file: FileOrName,
  { signal, from = 0, etag: known }: DownloadOptions = {},
): Promise<Download> {
  const path = pathOfFile(client, file);
  const left = new AbortController();
  const stop = eitherOf(left.signal, signal);
  const ask = async (at: number, etag?: string): Promise<Response> => {
    const headers = at > 0 && { range: `bytes=${at}-`, ...(etag && { 'if-range': etag }) };
    const answer = await send(client, {
      method: 'GET',
      path,
      signal: stop,
      repeatable: true,
      ...(headers && { headers }),
    });
    if ((at === 0 || answer.status === 206) && (etag ?? etagOf(answer)) === etagOf(answer)) return answer;
    await answer.body?.cancel();
    const message = 'The file has changed';
    throw new SluiceError({ code: 'file_changed', status: answer.status, message });
  };
  const first = await ask(from, known);
  const { headers } = first;
  const etag = etagOf(first);
  const length = headers.get('content-range')?.split('/')[1] ?? headers.get('content-length');
  const size = length === null ? undefined : Number(length);
  let reader = first.body?.getReader();
  let at = from;
  let tries = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const value = await readFrom(reader).catch(() => stop.throwIfAborted());
        if (value) {
          [at, tries] = [at + value.length, 0];
          return controller.enqueue(value);
        }
        if (value === null && at >= (size ?? 0)) return controller.close();
        const cut = new SluiceError({ code: 'no_answer', status: 0, message: 'The answer was cut' });
        await backOff(client, cut, tries++, stop);
        reader = (await ask(at, etag)).body?.getReader();
      }
    },
    cancel: (reason) => left.abort(reason),
  });
  return { stream, size, type: headers.get('content-type') ?? '', etag };
}

function etagOf({ headers }: Response): string {
  return headers.get('etag') ?? '';
}

/** The next bytes; null: the end. Rejects if nothing comes in time. */
async function readFrom(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
): Promise<Uint8Array | null> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reader?.cancel().catch(() => {});
  }, timeout);
  const read = await reader?.read().finally(() => clearTimeout(timer));
  if (isLate) throw new Error('No data came in time');
  return read?.value ?? null;
}
