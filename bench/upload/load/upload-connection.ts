import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Form, formSlices } from './form.ts';

export interface Target {
  readonly baseUrl: string;
  readonly path: string;
  readonly token: string;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** What became of one upload, and what the store should hold of it now. */
export interface SentUpload {
  readonly fileName: string;
  readonly size: number;
  readonly crc32: number;
  readonly bodySize: number;
  readonly bodyCrc32: number;
  /** 0 when there was no answer. */
  readonly status: number;
  /** What the server calls the file. */
  readonly name: string | null;
  readonly milliseconds: number;
  readonly problem: string | null;
}

/** One keep-alive connection without an HTTP client in between: prepared buffers go straight to the socket. */
export class UploadConnection {
  readonly #target: Target;
  readonly #socket: Socket;
  #received = '';
  #onChange: () => void = () => {};
  #failure: Error | null = null;

  private constructor(target: Target, socket: Socket) {
    this.#target = target;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
      this.#onChange();
    });
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the connection was closed before the answer')));
  }

  static async open(target: Target): Promise<UploadConnection> {
    const { hostname, port } = new URL(target.baseUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new UploadConnection(target, socket);
  }

  /** Sends the form as fast as the server takes it. */
  async upload(form: Form): Promise<SentUpload> {
    const begun = performance.now();
    try {
      this.writeHead(form.contentType, form.contentLength);
      for (const slice of formSlices(form)) {
        // an answer before the end of the body is a refusal
        if (this.#received !== '') break;
        if (!this.#socket.write(slice)) await this.#writable();
      }
      return describeUpload(form, await this.answer(), performance.now() - begun);
    } catch (error) {
      return failedUpload(form, error, performance.now() - begun);
    }
  }

  writeHead(contentType: string, contentLength: number): void {
    const { baseUrl, path, token } = this.#target;
    this.#socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${new URL(baseUrl).host}\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: ${contentType}\r\nContent-Length: ${contentLength}\r\n\r\n`,
    );
  }

  /** False: the system has not taken the bytes yet. */
  write(bytes: Uint8Array): boolean {
    return this.#socket.write(bytes);
  }

  /** Bytes that were written and that the system has not taken yet. */
  get pending(): number {
    return this.#socket.writableLength;
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  get ended(): boolean {
    return this.#failure !== null;
  }

  get answered(): boolean {
    return this.#received !== '';
  }

  /** The next answer, whole. */
  answer(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const answer = this.#takeAnswer();
        if (answer !== null) resolve(answer);
        else if (this.#failure !== null) reject(this.#failure);
        else return;
        this.#onChange = () => {};
      };
      this.#onChange = look;
      look();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #end(error: Error): void {
    this.#failure ??= error;
    this.#onChange();
  }

  #writable(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#socket.off('drain', settle);
        this.#onChange = () => {};
        resolve();
      };
      this.#socket.once('drain', settle);
      // a refusal, or the end of the connection
      this.#onChange = settle;
      if (this.#failure !== null) settle();
    });
  }

  #takeAnswer(): Answer | null {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return null;
    const head = this.#received.slice(0, headEnd);
    const length = /^content-length: *(\d+) *$/im.exec(head)?.[1];
    const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1];
    if (length === undefined || status === undefined)
      throw new Error(`an answer that is not understood: ${head}`);
    const end = headEnd + 4 + Number(length);
    if (this.#received.length < end) return null;
    const body = this.#received.slice(headEnd + 4, end);
    this.#received = this.#received.slice(end);
    return { status: Number(status), body };
  }
}

export function describeUpload(form: Form, { status, body }: Answer, milliseconds: number): SentUpload {
  const name = status === 200 ? readName(body) : null;
  return {
    ...expectation(form),
    status,
    name,
    milliseconds,
    problem: name === null ? `${form.fileName}: ${status} ${body.slice(0, 300)}` : null,
  };
}

export function failedUpload(form: Form, error: unknown, milliseconds: number): SentUpload {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    ...expectation(form),
    status: 0,
    name: null,
    milliseconds,
    problem: `${form.fileName}: ${reason}`,
  };
}

function expectation(form: Form): Pick<SentUpload, 'fileName' | 'size' | 'crc32' | 'bodySize' | 'bodyCrc32'> {
  const { fileName, size, crc32, bodyCrc32, contentLength } = form;
  return { fileName, size, crc32, bodySize: contentLength, bodyCrc32 };
}

function readName(body: string): string | null {
  try {
    const { name } = JSON.parse(body) as { name?: unknown };
    return typeof name === 'string' && name !== '' ? name : null;
  } catch {
    return null;
  }
}
