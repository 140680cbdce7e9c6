import { Http1Pool } from '#kernel/http-client/http1-pool.ts';
import type { Attempt } from '#kernel/limits/deadline.ts';
import { traceHeaders } from '#kernel/telemetry/active-span.ts';
import { type Answer, readBeginning } from './clickhouse-answer.ts';
import { engineFailure } from './engine-failure.ts';
import { withoutException } from './without-exception.ts';

export interface HttpOptions {
  /** http or https, without user and password; may have a path for a proxy in front of the server. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** PEM: the authority of the server's certificate; absent: Node's own list. */
  readonly ca?: Buffer | undefined;
}

export interface StatementText {
  /** Complete SQL, or its chunks. */
  readonly body: string | readonly Uint8Array[];
  readonly settings: Readonly<Record<string, string | number>>;
}

/**
 * The server closes an idle connection after keep_alive_timeout: 10 s by default, 3 s before 23.11. A statement sent at
 * that moment fails, so we close idle connections well before.
 */
const idleLimit = 2500;
/** Deadline of a connect, because a dead machine does not answer. Milliseconds. */
const connectTimeout = 10_000;

/** Sends statements to the HTTP interface of a server: https://clickhouse.com/docs/interfaces/http */
export class ClickhouseHttp {
  readonly #pool: Http1Pool;
  readonly #path: string;
  /** Headers of every request. */
  readonly #headers: string;

  constructor({ url, user, password, ca }: HttpOptions, connections: number) {
    const base = new URL(url);
    const credentials = Buffer.from(`${user}:${password}`).toString('base64');
    this.#path = base.pathname;
    this.#headers = `host: ${base.host}\r\nuser-agent: sluice\r\nauthorization: Basic ${credentials}\r\n`;
    this.#pool = new Http1Pool({
      base,
      name: 'the database',
      limit: connections,
      connectTimeout,
      idleLimit,
      ca,
      // with `keep_alive_timeout` = 0 the engine closes each connection without announcing it
      announcedOnly: true,
      // answers are streamed
      maxAnswer: 0,
    });
  }

  /** Resolves with the head of a success answer; throws the error of any other answer. */
  async send(queryId: string, { body, settings }: StatementText, attempt: Attempt): Promise<Answer> {
    // the body has the whole statement
    const chunks = typeof body === 'string' ? [Buffer.from(body)] : body;
    const length = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const head = `POST ${this.#path}?query_id=${queryId}${queryOf(settings)} HTTP/1.1\r\n${this.#headers}`;
    const request = { head: `${head}${traceLines()}content-length: ${length}\r\n\r\n`, chunks };
    const answer = await this.#pool.stream(request, { quiet: 0, attempt });
    const { status, headers } = answer;
    const code = headers.get('x-clickhouse-exception-code');
    if (status === 200 && code === undefined) {
      return { body: answer, data: withoutException(answer, headers.get('x-clickhouse-exception-tag')) };
    }
    const text = await readBeginning(answer);
    if (code !== undefined || /^Code: \d+/.test(text)) throw engineFailure({ text, code });
    // a proxy answered: the engine may have seen the statement or not
    throw new Error(`the database answered with status ${status}: ${text.slice(0, 200)}`);
  }

  close(): void {
    this.#pool.close();
  }
}

function queryOf(settings: StatementText['settings']): string {
  let query = '';
  for (const name in settings) query += `&${name}=${encodeURIComponent(settings[name] as string | number)}`;
  return query;
}

function traceLines(): string {
  const { traceparent } = traceHeaders();
  return traceparent === undefined ? '' : `traceparent: ${traceparent}\r\n`;
}
