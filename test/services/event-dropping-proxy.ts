import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands between clients and a server, and keeps the first live event of a type to itself. */
export async function startEventDroppingProxy(
  target: string,
  type: string,
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
      response.setEncoding('utf8');
      for await (const text of response as AsyncIterable<string>) {
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() as string;
        for (const block of blocks) {
          const id = /^data: \{"id":"([^"]+)"/m.exec(block)?.[1];
          if (dropped.length === 0 && id !== undefined && block.includes(`event: ${type}\n`))
            dropped.push(id);
          else answer.write(`${block}\n\n`);
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
