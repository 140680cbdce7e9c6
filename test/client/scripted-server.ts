import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Answer = (response: ServerResponse) => void;

/** JSON, as the service answers it. */
export function answer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
}

/** A refusal of the service. */
export function refuse(status: number, code: string, headers: Record<string, string> = {}): Answer {
  return answer(status, { code, message: `It is ${code}`, error: [`It is ${code}`] }, headers);
}

/** A page of something that stands in between. */
export function page(status: number): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html' }).end('<!doctype html><title>Log in</title>');
  };
}

export const cut: Answer = (response) => void response.socket?.destroy();

/** The beginning of an answer. */
export const half: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('[{"id":');
  setTimeout(() => response.socket?.destroy(), 50);
};

/** Answers each request by the next of the answers, and the last one again and again. */
export async function scriptedServer(
  t: Pick<Test, 'teardown'>,
  answers: readonly Answer[],
): Promise<{ readonly url: string; readonly heard: readonly Heard[] }> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const next = answers[Math.min(heard.length, answers.length - 1)];
    const entry = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: '',
    };
    heard.push(entry);
    for await (const bytes of request) entry.body += bytes;
    next?.(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}
