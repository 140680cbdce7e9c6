import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

interface EventFaults {
  /** The first live event of this type is kept from clients. */
  readonly drop?: string;
  /** Milliseconds for which each live event is held back. */
  readonly hold?: number;
}

/** Stands between clients and a server, and spoils live events. */
export async function startEventProxy(
  target: string,
  { drop, hold = 0 }: EventFaults,
): Promise<{ readonly url: string; readonly dropped: string[]; close(): void }> {
  const dropped: string[] = [];
  const server = createServer((asked, answer) => {
    const { method, headers } = asked;
    const onward = request(target + asked.url, { method, headers });
    asked.pipe(onward);
    const passOn = async (): Promise<void> => {
      const [response] = (await once(onward, 'response')) as [IncomingMessage];
      answer.writeHead(response.statusCode ?? 500, response.headers);
      answer.flushHeaders();
      if (headers.accept !== 'text/event-stream') {
        response.pipe(answer);
        return;
      }
      let rest = '';
      let isReady = false;
      const pass = (block: string): void => {
        if (!answer.destroyed && !answer.writableEnded) answer.write(`${block}\n\n`);
      };
      response.setEncoding('utf8');
      for await (const text of response as AsyncIterable<string>) {
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() as string;
        for (const block of blocks) {
          const id = /^data: \{"id":"([^"]+)"/m.exec(block)?.[1];
          if (dropped.length === 0 && id !== undefined && block.includes(`event: ${drop}\n`))
            dropped.push(id);
          // timers of the same length keep the order
          else if (hold > 0 && isReady) setTimeout(pass, hold, block);
          else pass(block);
          isReady ||= block.includes('event: ready\n');
        }
      }
      answer.end();
    };
    passOn().catch(() => void answer.destroy());
    answer.on('close', () => void onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    dropped,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
