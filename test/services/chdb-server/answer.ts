import type { ServerResponse } from 'node:http';
import type { Session } from 'chdb';
import type { EngineError } from './engine-error.ts';
import { engineError } from './engine-error.ts';
import type { FaultAction } from './fault.ts';

const noun = { read_rows: '0', read_bytes: '0', written_rows: '0', written_bytes: '0', elapsed_ns: '0' };

/** One answer of the HTTP interface. */
export class Answer {
  readonly #response: ServerResponse;
  /** Random, so that no data looks like the mark of an exception. */
  readonly #tag: string;
  readonly #queryId: string;

  constructor(response: ServerResponse, args: { queryId: string; tag: string }) {
    this.#response = response;
    this.#tag = args.tag;
    this.#queryId = args.queryId;
  }

  #head(status: number, more: Record<string, string> = {}): void {
    this.#response.writeHead(status, {
      'Content-Type': 'text/plain; charset=UTF-8',
      'X-ClickHouse-Server-Display-Name': 'chdb',
      'X-ClickHouse-Query-Id': this.#queryId,
      'X-ClickHouse-Timezone': 'UTC',
      'X-ClickHouse-Exception-Tag': this.#tag,
      'X-ClickHouse-Summary': JSON.stringify(noun),
      ...more,
    });
  }

  empty(): void {
    this.#head(200);
    this.#response.end();
  }

  text(format: string, body: Uint8Array): void {
    this.#head(200, { 'X-ClickHouse-Format': format });
    this.#response.end(body);
  }

  error({ code, status, text }: EngineError): void {
    this.#head(status, { 'X-ClickHouse-Exception-Code': String(code) });
    this.#response.end(`${text}\n`);
  }

  plain(status: number, body: string, exceptionCode?: number): void {
    const headers =
      exceptionCode === undefined ? {} : { 'X-ClickHouse-Exception-Code': String(exceptionCode) };
    this.#response.writeHead(status, headers);
    this.#response.end(body);
  }

  reset(): void {
    this.#response.socket?.resetAndDestroy();
  }

  /** The rows of a SELECT as they are made, no faster than the client takes them. */
  async stream(session: Session, sql: string, format: string, fault: FaultAction | null): Promise<void> {
    const chunks = session.queryStream(sql, { format });
    const iterator = chunks[Symbol.asyncIterator]();
    const response = this.#response;
    let sent = 0;
    try {
      for (;;) {
        let chunk: Uint8Array | null;
        try {
          const next = await iterator.next();
          chunk = next.done === true ? null : next.value.raw();
        } catch (error) {
          const failure = engineError(error);
          if (response.headersSent) this.#exception(failure.text, true);
          else this.error(failure);
          return;
        }
        if (response.destroyed) return;
        if (!response.headersSent) this.#head(200, { 'X-ClickHouse-Format': format });
        if (chunk === null) {
          response.end();
          return;
        }
        const left = fault !== null && 'bytes' in fault ? fault.bytes - sent : Number.POSITIVE_INFINITY;
        const data = chunk.subarray(0, Math.max(0, left));
        sent += data.byteLength;
        if (!response.write(data)) await writable(response);
        if (data.byteLength === chunk.byteLength) continue;
        if (fault?.kind === 'fail-middle') {
          this.#exception('Code: 241. DB::Exception: made by a fault. (MEMORY_LIMIT_EXCEEDED)', false);
        } else response.socket?.destroySoon();
        return;
      }
    } finally {
      chunks.cancel();
    }
  }

  /** The engine's message behind the data; then the engine breaks the encoding, so that nobody takes it for an end. */
  #exception(text: string, broken: boolean): void {
    const message = `${text}\n`;
    const tag = this.#tag;
    this.#response.write(
      `\r\n__exception__\r\n${tag}\r\n${message}${Buffer.byteLength(message)} ${tag}\r\n__exception__\r\n`,
    );
    if (broken) this.#response.socket?.destroySoon();
    else this.#response.end();
  }
}

function writable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
