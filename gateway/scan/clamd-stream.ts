import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Part } from '#objects/object-store.ts';

/** Where clamd listens. */
export type ClamdAddress = { readonly path: string } | { readonly host: string; readonly port: number };

export interface ClamdTimes {
  /** For the connection. Milliseconds. */
  readonly connect: number;
  /** How long clamd may take no bytes while there are some for it. Milliseconds. */
  readonly stalled: number;
}

/** Bytes between two chances to read an early answer, which is lost once a write fails. */
const writtenAtOnce = 1024 * 1024;
/** Longest answer. Characters. */
const maxAnswer = 4096;
const end = Buffer.alloc(4);

/** One command of clamd, on a connection of its own (clamd(8), COMMANDS). */
export class ClamdStream {
  readonly #socket: Socket;
  readonly #times: ClamdTimes;
  readonly #answer: Promise<string>;
  #connected = false;
  #over = false;
  /** Ends the wait for a write. */
  #onWritten: () => void = () => {};

  /** @param command without its `z` and NUL */
  constructor(address: ClamdAddress, command: string, times: ClamdTimes) {
    this.#times = times;
    const socket = connect({ ...address, noDelay: true });
    this.#socket = socket;
    socket.setTimeout(times.connect);
    this.#answer = this.#readAnswer();
    // whoever writes sees the end of the stream
    this.#answer.catch(() => {});
    socket.write(`z${command}\0`);
  }

  /** Whether no more bytes are wanted: the answer has come, or the stream broke. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Sends bytes. Resolves when they may be reused, which is early once the answer has come or the stream broke. */
  async write({ chunks }: Pick<Part, 'chunks'>): Promise<void> {
    let written = 0;
    for (const chunk of chunks) {
      if (this.#over) return;
      if (chunk.byteLength === 0) continue;
      const length = Buffer.allocUnsafe(4);
      length.writeUInt32BE(chunk.byteLength);
      this.#socket.cork();
      this.#socket.write(length);
      const sent = this.#sent(chunk);
      this.#socket.uncork();
      await sent;
      written += chunk.byteLength;
      if (written < writtenAtOnce) continue;
      written = 0;
      await nextTurn();
    }
  }

  /** Ends the file. @param limit milliseconds until the answer; the socket is closed then @returns the answer */
  async end(limit: number): Promise<string> {
    if (!this.#over) await this.#sent(end);
    return this.answer(limit);
  }

  /** The answer. Rejects when it has not come within `limit` milliseconds. */
  async answer(limit: number): Promise<string> {
    const timer = setTimeout(
      () => this.#socket.destroy(new Error(`clamd did not answer for ${limit} ms`)),
      limit,
    );
    try {
      return await this.#answer;
    } finally {
      clearTimeout(timer);
      this.close();
    }
  }

  /** Gives up the command. */
  close(): void {
    this.#socket.destroy();
  }

  /** Resolves when the kernel has the bytes, or nobody wants them any more. */
  async #sent(bytes: Uint8Array): Promise<void> {
    // the timer starts again with each byte that the kernel takes
    if (this.#connected) this.#socket.setTimeout(this.#times.stalled);
    await new Promise<void>((resolve) => {
      this.#onWritten = resolve;
      this.#socket.write(bytes, () => resolve());
    });
    this.#socket.setTimeout(0);
  }

  #readAnswer(): Promise<string> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      let text = '';
      socket.once('connect', () => {
        this.#connected = true;
        socket.setTimeout(this.#times.stalled);
      });
      socket.on('timeout', () => {
        const what = this.#connected ? 'clamd takes no bytes' : 'clamd cannot be reached';
        socket.destroy(new Error(`${what} for ${socket.timeout} ms`));
      });
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        const at = text.indexOf('\0');
        if (at < 0 && text.length <= maxAnswer) return;
        this.#over = true;
        resolve(text.slice(0, at < 0 ? maxAnswer : at));
        socket.destroy();
      });
      socket.on('end', () => socket.destroy(new Error('clamd broke off without an answer')));
      socket.on('error', (error) => {
        this.#over = true;
        reject(error);
      });
      socket.on('close', () => {
        this.#over = true;
        reject(new Error('the scan was given up'));
        this.#onWritten();
      });
    });
  }
}
