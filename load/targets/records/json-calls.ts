import { ConnectionPool } from '../../http/connection-pool.ts';
import { within } from '../../http/within.ts';
import type { Preparation } from '../target.ts';

/** Milliseconds that one request of the preparation may take. */
const requestTimeout = 120_000;
const answerLimit = 64 * 1024 * 1024;

export interface JsonAnswer<Value> {
  readonly status: number;
  /** Null for a body that is no JSON. */
  readonly value: Value | null;
}

/** Requests with JSON that prepare a server for a load, or clean it up. Close it. */
export class JsonCalls {
  readonly #pool: ConnectionPool;
  readonly #url: URL;
  readonly #signal: AbortSignal;
  /** Of each request, each with its line end. */
  fields: string;

  constructor({ address, signal }: Preparation, fields = '') {
    this.fields = fields;
    this.#pool = new ConnectionPool(address.url);
    this.#url = new URL(address.url);
    this.#signal = signal;
  }

  /** @param path from the root of the server */
  async send<Value>(method: string, path: string, value?: unknown): Promise<JsonAnswer<Value>> {
    const body = value === undefined ? undefined : Buffer.from(JSON.stringify(value));
    const type = body === undefined ? '' : 'Content-Type: application/json\r\n';
    const length = method === 'GET' ? '' : `Content-Length: ${body?.byteLength ?? 0}\r\n`;
    const head = `${method} ${path} HTTP/1.1\r\nHost: ${this.#url.host}\r\n${this.fields}${type}${length}\r\n`;
    const answer = await within(this.#signal, requestTimeout, (signal) =>
      this.#pool.send(head, body, { keep: answerLimit, signal }),
    );
    const text = answer.body.toString();
    return { status: answer.status, value: parsed<Value>(text) };
  }

  /** Rejects with a sentence for any status from 400 on. @param what is done, as `the collection people is made` */
  async must<Value>(what: string, method: string, path: string, value?: unknown): Promise<Value> {
    const answer = await this.send<Value>(method, path, value);
    if (answer.status < 400) return answer.value as Value;
    const shown = JSON.stringify(answer.value ?? '').slice(0, 300);
    throw new Error(`${what}: the server answered ${answer.status} ${shown}`);
  }

  close(): void {
    this.#pool.close();
  }
}

function parsed<Value>(text: string): Value | null {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return null;
  }
}
