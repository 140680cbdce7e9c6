import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test looks into what it expects
  readonly body: any;
}

export interface AnswerOfReceiver {
  readonly status: number;
  readonly location?: string;
  readonly retryAfter?: string;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** What the next calls are answered; absent: what `answerTo` says. */
  readonly answers: (number | AnswerOfReceiver | 'nothing')[];
  /** By default 204. */
  answerTo: (call: ReceivedWebhook) => number | AnswerOfReceiver | Promise<number>;
  /** Resolves when so many calls have come. */
  count(calls: number): Promise<void>;
  close(): Promise<void>;
}

/** A server on loopback that webhooks call. @param at its port; 0: any */
export async function startWebhookReceiver(at = 0): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const answers: WebhookReceiver['answers'][number][] = [];
  let wake: () => void = () => {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const call = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) };
    received.push(call);
    wake();
    const answer = answers.shift() ?? (await receiver.answerTo(call));
    if (typeof answer === 'number') response.writeHead(answer).end();
    else if (answer !== 'nothing') {
      const { status, location, retryAfter } = answer;
      const named = { ...(location && { location }), ...(retryAfter && { 'retry-after': retryAfter }) };
      response.writeHead(status, named).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}`,
    received,
    answers,
    answerTo: () => 204,
    async count(calls) {
      while (received.length < calls) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
