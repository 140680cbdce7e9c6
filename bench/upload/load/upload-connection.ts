import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileSlices } from './file-bytes.ts';
import { type Form, formSlices } from './form.ts';

export interface Target {
  readonly baseUrl: string;
  readonly path: string;
  readonly token: string;
  /** The path speaks tus, and gets files in chunks of this many bytes. */
  readonly chunkBytes?: number;
}

export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** The result of an upload, and what the store should have of it. */
export interface SentUpload {
  readonly fileName: string;
  readonly size: number;
  readonly crc32: number;
  readonly bodySize: number;
  readonly bodyCrc32: number;
  /** 0 when there was no answer. */
  readonly status: number;
  /** The server's name for the file. */
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
      const { chunkBytes } = this.#target;
      if (chunkBytes === undefined) {
        this.writeHead(form.contentType, form.contentLength);
        await this.#writeBody(formSlices(form));
      } else await this.#writeChunks(form, chunkBytes);
      return describeUpload(form, await this.answer(), performance.now() - begun);
    } catch (error) {
      return failedUpload(form, error, performance.now() - begun);
    }
  }

  /** Sends any request, and reads its answer. @param head with the empty line at its end */
  async send(head: string, body: Iterable<Buffer> = []): Promise<Answer> {
    const socket = this.#socket;
    // in one write with what fits
    socket.cork();
    process.nextTick(() => socket.uncork());
    socket.write(head, 'latin1');
    await this.#writeBody(body);
    return this.answer();
  }

  /** https://tus.io/protocols/resumable-upload: all but the answer to the last chunk. */
  async #writeChunks({ fileName, seed, size }: Form, chunkBytes: number): Promise<void> {
    const fields = ['Tus-Resumable: 1.0.0'];
    const metadata = `filename ${Buffer.from(fileName).toString('base64')}`;
    this.#writeHead(`POST ${this.#target.path}`, 0, [
      ...fields,
      `Upload-Length: ${size}`,
      `Upload-Metadata: ${metadata}`,
    ]);
    const { head } = await this.answer();
    const location = /^location: *(\S+)/im.exec(head)?.[1];
    if (location === undefined) throw new Error(`no upload was begun: ${head}`);
    for (let offset = 0; offset < size; offset += chunkBytes) {
      if (offset > 0) {
        const { status } = await this.answer();
        if (status !== 204) throw new Error(`chunk before ${offset}: ${status}`);
      }
      const end = Math.min(offset + chunkBytes, size);
      this.#writeHead(`PATCH ${new URL(location, this.#target.baseUrl).pathname}`, end - offset, [
        ...fields,
        `Upload-Offset: ${offset}`,
        'Content-Type: application/offset+octet-stream',
      ]);
      await this.#writeBody(fileSlices(seed, end, offset));
    }
  }

  async #writeBody(slices: Iterable<Buffer>): Promise<void> {
    for (const slice of slices) {
      // an answer before the end of the body is a refusal
      if (this.#received !== '') break;
      if (!this.#socket.write(slice)) await this.#writable();
    }
  }

  writeHead(contentType: string, contentLength: number): void {
    this.#writeHead(`POST ${this.#target.path}`, contentLength, [`Content-Type: ${contentType}`]);
  }

  #writeHead(request: string, contentLength: number, fields: readonly string[]): void {
    const { baseUrl, token } = this.#target;
    const lines = [
      `${request} HTTP/1.1`,
      `Host: ${new URL(baseUrl).host}`,
      `Authorization: Bearer ${token}`,
      ...fields,
      `Content-Length: ${contentLength}`,
    ];
    this.#socket.write(`${lines.join('\r\n')}\r\n\r\n`);
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
      // an error response, or the end of the connection
      this.#onChange = settle;
      if (this.#failure !== null) settle();
    });
  }

  #takeAnswer(): Answer | null {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return null;
    const head = this.#received.slice(0, headEnd);
    const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1];
    const length = status === '204' ? '0' : /^content-length: *(\d+) *$/im.exec(head)?.[1];
    if (length === undefined || status === undefined)
      throw new Error(`an answer that is not understood: ${head}`);
    const end = headEnd + 4 + Number(length);
    if (this.#received.length < end) return null;
    const body = this.#received.slice(headEnd + 4, end);
    this.#received = this.#received.slice(end);
    return { status: Number(status), head, body };
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
