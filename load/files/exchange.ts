import type { Answer, AnswerOptions, RequestBody } from '../http/connection.ts';
import { slicesOf } from '../seed/bytes.ts';
import type { FileSession, SeedFile } from './file-session.ts';
import { Refusal } from './refusal.ts';

/** Of an answer's body: a CloudFile, a plan with a hundred addresses, a thousand records. */
const keptBytes = 64 * 1024 * 1024;

export interface FileCall {
  /** Method and path. */
  readonly request: string;
  /** Each with its line break. */
  readonly fields?: string;
  readonly body?: RequestBody;
  /** Of the body. */
  readonly bytes?: number;
  /** Of an address that was signed, mostly of a bucket: it gets no token. */
  readonly origin?: string;
}

/** The requests that one upload or download consists of, with the bytes of all of them. */
export class Exchange {
  readonly session: FileSession;
  readonly #signal: AbortSignal;
  sentBytes = 0;
  receivedBytes = 0;

  constructor(session: FileSession, signal: AbortSignal) {
    this.session = session;
    this.#signal = signal;
  }

  /** Any answer of the server. Rejects when there is none. */
  async send(call: FileCall, options: AnswerOptions = {}): Promise<Answer> {
    const { url, token } = this.session;
    const { request, origin, fields = '', body, bytes = 0 } = call;
    const authorization = origin !== undefined || token === null ? '' : `Authorization: Bearer ${token}\r\n`;
    // RFC 9110, section 8.6: where a body is expected, an empty one has a length as well
    const length = bytes > 0 || !request.startsWith('GET ') ? `Content-Length: ${bytes}\r\n` : '';
    const head = `${request} HTTP/1.1\r\nHost: ${new URL(origin ?? url).host}\r\n${authorization}${fields}${length}\r\n`;
    this.sentBytes += head.length + bytes;
    const answer = await this.session
      .senderOf(origin ?? url)
      .send(head, body, { keep: keptBytes, signal: this.#signal, ...options });
    this.receivedBytes += answer.bytes;
    return answer;
  }

  /** @returns an answer with this status; throws a Refusal for any other */
  async expect(status: number, call: FileCall): Promise<Answer> {
    const answer = await this.send(call);
    if (answer.status !== status) throw new Refusal(answer);
    return answer;
  }

  /** Asks for JSON. @param value sent as JSON */
  async ask<Value>(status: number, request: string, value?: object, fields = ''): Promise<Value> {
    if (value === undefined) return jsonOf<Value>(await this.expect(status, { request, fields }));
    const body = Buffer.from(JSON.stringify(value));
    const call = { request, fields: `Content-Type: application/json\r\n${fields}`, body: [body] };
    return jsonOf<Value>(await this.expect(status, { ...call, bytes: body.byteLength }));
  }

  /** Bytes of a file between two offsets, as a body. */
  slices({ index }: SeedFile, from: number, to: number): Iterable<Buffer> {
    return slicesOf(this.session.seed, index, from, to);
  }

  /** Path of something of the project. */
  path(name: string): string {
    return `${this.session.base}/${name}`;
  }
}

/** Throws a Refusal when it has none. */
export function jsonOf<Value>(answer: Answer): Value {
  try {
    return JSON.parse(answer.body.toString()) as Value;
  } catch {
    throw new Refusal(answer, 'no_json');
  }
}

/** Of an answer; null: it has none. */
export function fieldOf({ head }: Answer, name: string): string | null {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1]?.trimEnd() ?? null;
}
