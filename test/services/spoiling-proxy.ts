import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What happens to a request whose answer says that all is well. */
export type Spoiling =
  /** What it stored is deleted again. */
  | { readonly kind: 'lose' }
  /** It never comes to the server: an update, which is answered with `{}`. */
  | { readonly kind: 'swallow' }
  /** It is sent a second time. */
  | { readonly kind: 'double' }
  /** What it stored is updated. */
  | { readonly kind: 'overwrite'; readonly with: object }
  /** One bit of the answer's body is another one. */
  | { readonly kind: 'change'; readonly offset: number };

export interface SpoilingProxy {
  readonly url: string;
  /** What was spoilt: the answers of lost and doubled requests, and paths of changed ones. */
  readonly spoilt: string[];
  close(): void;
}

/** Stands between a client and a server that loses and changes what it has acknowledged. */
export async function startSpoilingProxy(
  target: string,
  spoil: (method: string, path: string) => Spoiling | null,
): Promise<SpoilingProxy> {
  const spoilt: string[] = [];
  const server = createServer((asked, answer) => {
    const spoiling = spoil(asked.method ?? '', asked.url ?? '');
    if (spoiling?.kind === 'swallow') {
      spoilt.push(asked.url ?? '');
      asked.resume().on('end', () => answer.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
      return;
    }
    const work =
      spoiling === null || spoiling.kind === 'change'
        ? passOn(target, asked, answer, spoiling, spoilt)
        : repeat(target, asked, answer, spoiling, spoilt);
    work.catch(() => void answer.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spoilt,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function passOn(
  target: string,
  asked: IncomingMessage,
  answer: ServerResponse,
  spoiling: Extract<Spoiling, { kind: 'change' }> | null,
  spoilt: string[],
): Promise<void> {
  const { method, headers } = asked;
  const onward = request(target + asked.url, { method, headers });
  asked.pipe(onward);
  const [response] = (await once(onward, 'response')) as [IncomingMessage];
  answer.writeHead(response.statusCode ?? 500, response.headers);
  let at = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const place = (spoiling?.offset ?? -1) - at;
    if (place >= 0 && place < chunk.length) {
      chunk[place] = (chunk[place] as number) ^ 1;
      spoilt.push(asked.url ?? '');
    }
    at += chunk.length;
    answer.write(chunk);
  }
  answer.end();
}

/** With a body that is small: a record. */
async function repeat(
  target: string,
  asked: IncomingMessage,
  answer: ServerResponse,
  spoiling: Spoiling,
  spoilt: string[],
): Promise<void> {
  const body = await text(asked);
  const { method = 'POST', url = '/', headers } = asked;
  const send = async (
    what: string,
    path: string,
    content?: string,
  ): Promise<{ status: number; text: string }> => {
    const length = content === undefined ? {} : { 'content-length': `${Buffer.byteLength(content)}` };
    const { 'content-length': _, ...fields } = headers;
    const onward = request(target + path, { method: what, headers: { ...fields, ...length } });
    onward.end(content);
    const [response] = (await once(onward, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await text(response) };
  };
  const first = await send(method, url, body);
  if (first.status === 200) {
    spoilt.push(first.text);
    const { id, name } = JSON.parse(first.text) as { id?: string; name?: string };
    const space = url.replace(/\/_single_.*$/, '');
    if (spoiling.kind === 'double') await send(method, url, body);
    else if (spoiling.kind === 'overwrite')
      await send(method, `${space}/update-by-id?id=${id}`, JSON.stringify(spoiling.with));
    else if (url.startsWith('/_f_/'))
      await send('DELETE', url.replace(/[^/]*$/, encodeURIComponent(name ?? '')));
    else await send('DELETE', `${space}?id=${id}`);
  }
  answer.writeHead(first.status, { 'content-type': 'application/json' }).end(first.text);
}
