import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test looks into what it expects
  readonly body: any;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** What the next calls are answered; absent: 204. */
  readonly answers: (number | { readonly status: number; readonly location: string } | 'nothing')[];
  /** Resolves when so many calls have come. */
  count(calls: number): Promise<void>;
  close(): Promise<void>;
}

/** A server on loopback that webhooks call. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const answers: WebhookReceiver['answers'][number][] = [];
  let wake: () => void = () => {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    received.push({ path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) });
    const answer = answers.shift() ?? 204;
    if (typeof answer === 'number') response.writeHead(answer).end();
    else if (answer !== 'nothing') response.writeHead(answer.status, { location: answer.location }).end();
    wake();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answers,
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
}
