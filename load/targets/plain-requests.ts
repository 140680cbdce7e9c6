import type { ConnectionPool } from '../http/connection-pool.ts';
import type { PlainRequest } from '../mix/mix.ts';
import { failedOutcome } from './failed-outcome.ts';
import type { Perform } from './performer-of.ts';
import { templateOf } from './template.ts';

interface PlainOptions {
  readonly pool: ConnectionPool;
  readonly seed: number;
  readonly url: URL;
  /** Field lines that every request has, each with its line end. */
  readonly fields: string;
}

const mayHaveBody = ['POST', 'PUT', 'PATCH'];

/** Prepares a plain request of a mix: what can be made once is. */
export function plainRequest(request: PlainRequest, { pool, seed, url, fields }: PlainOptions): Perform {
  const { method, headers, expect } = request;
  const base = url.pathname.replace(/\/$/, '');
  const pathOf = templateOf(base + request.path, seed);
  const bodyOf = request.body === null ? null : templateOf(request.body, seed);
  // RFC 9110, section 8.6: where a body is expected, an empty one has a length as well
  const empty = bodyOf === null && mayHaveBody.includes(method) ? 'content-length: 0\r\n' : '';
  let lines = withoutNames(`host: ${url.host}\r\n${fields}`, Object.keys(headers)) + empty;
  for (const [name, value] of Object.entries(headers)) lines += `${name}: ${value}\r\n`;
  const fixed = pathOf(0) === pathOf(1) && bodyOf === null;
  const once = Buffer.from(`${method} ${pathOf(0)} HTTP/1.1\r\n${lines}\r\n`, 'latin1');
  const isGood = (status: number): boolean =>
    expect === null ? status >= 200 && status < 300 : expect.includes(status);
  return async (number, signal) => {
    const body = bodyOf === null ? undefined : Buffer.from(bodyOf(number));
    const length = body === undefined ? '' : `content-length: ${body.byteLength}\r\n`;
    const head = fixed
      ? once
      : Buffer.from(`${method} ${pathOf(number)} HTTP/1.1\r\n${lines}${length}\r\n`, 'latin1');
    const sentBytes = head.byteLength + (body?.byteLength ?? 0);
    try {
      const { status, bytes } = await pool.send(head, body, { signal });
      const good = isGood(status);
      return { good, status, code: good ? null : `${status}`, sentBytes, receivedBytes: bytes };
    } catch (error) {
      return failedOutcome(error, sentBytes);
    }
  };
}

/** Field lines without those that the mix gives itself: a request has one `host`, and one `authorization`. */
function withoutNames(lines: string, names: readonly string[]): string {
  const given = new Set(names.map((name) => name.toLowerCase()));
  return lines
    .split(/(?<=\r\n)/)
    .filter((line) => !given.has(line.slice(0, line.indexOf(':')).toLowerCase()))
    .join('');
}
