import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { authorization, structureOf } from './direct-store.ts';

/** Streams that are opened concurrently. */
const openedAtOnce = 50;
const limit = 60_000;

/** The structure of a space whose records have the number of their write. */
export const structure = structureOf('live', [
  { name: 'city', type: 'TEXT' },
  { name: 'number', type: 'NUMBER' },
  { name: 'note', type: 'TEXT' },
]);

/** When the first event of each numbered write arrived, and the number of events. */
export interface Arrivals {
  readonly at: Map<number, number>;
  events: number;
}

export interface Streams {
  readonly heard: Arrivals;
  close(): void;
}

function head(method: string, path: string, more: Readonly<Record<string, string>>): string {
  const headers = { host: '127.0.0.1', authorization, structure, ...more };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Opens live queries, each on its own connection, and resolves when all have their records. */
export async function openStreams(url: string, queries: readonly string[]): Promise<Streams> {
  const { port } = new URL(url);
  const heard: Arrivals = { at: new Map(), events: 0 };
  const sockets: Socket[] = [];
  const open = async (query: string): Promise<void> => {
    const socket = connect(Number(port), '127.0.0.1');
    sockets.push(socket);
    socket.write(head('GET', `/bench/live?${query}`, { accept: 'text/event-stream' }));
    socket.setEncoding('latin1');
    const isReady = new Promise<void>((resolve, reject) => {
      let text = '';
      socket.on('error', reject);
      socket.on('close', () => reject(new Error(`a stream ended: ${text.slice(0, 300)}`)));
      socket.on('data', (chunk: string) => {
        text += chunk;
        if (text.includes('event: ready')) resolve();
        const end = text.lastIndexOf('\n\n');
        if (end < 0) return;
        hear(heard, text.slice(0, end));
        text = text.slice(end);
      });
    });
    isReady.catch(() => {});
    await isReady;
  };
  for (let at = 0; at < queries.length; at += openedAtOnce)
    await Promise.all(queries.slice(at, at + openedAtOnce).map(open));
  return {
    heard,
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function hear(heard: Arrivals, text: string): void {
  const now = performance.now();
  for (const [, number] of text.matchAll(/event: (?:enter|change)\ndata: .*?"number":(\d+)/g)) {
    heard.events++;
    if (!heard.at.has(Number(number))) heard.at.set(Number(number), now);
  }
}

/** When each write was answered, and the rate. */
export interface WriteResult {
  readonly answered: Map<number, number>;
  readonly perSecond: number;
}

interface WriteLoad {
  readonly connections: number;
  readonly seconds: number;
  /** Writes per second; absent: as many as possible. */
  readonly rate?: number;
  /** Number of the first write. */
  readonly from: number;
  readonly cityOf: (number: number) => string;
}

/** Inserts records, one per request. */
export async function write(url: string, args: WriteLoad): Promise<WriteResult> {
  const { connections, seconds, rate, from, cityOf } = args;
  const { port } = new URL(url);
  const answered = new Map<number, number>();
  const began = performance.now();
  let next = from;
  const one = async (): Promise<void> => {
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    while (performance.now() - began < seconds * 1000) {
      const number = next++;
      if (rate !== undefined) {
        const due = began + ((number - from) * 1000) / rate;
        if (due > performance.now()) await sleep(due - performance.now());
      }
      const body = JSON.stringify({ city: cityOf(number), number, note: `write ${number}` });
      const more = { 'content-type': 'application/json', 'content-length': String(body.length) };
      socket.write(head('POST', '/bench/live/_single_', more) + body);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      if (answer.toString('latin1', 9, 12) !== '200') throw new Error(answer.toString());
      answered.set(number, performance.now());
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, one));
  return { answered, perSecond: answered.size / seconds };
}

/** Inserts this many records in arrays. @returns milliseconds */
export async function writeArrays(url: string, from: number, count: number): Promise<number> {
  const began = performance.now();
  const perRequest = 100;
  for (let at = from; at < from + count; at += 8 * perRequest) {
    const lists = Array.from({ length: 8 }, (_, list) =>
      Array.from({ length: perRequest }, (_, place) => {
        const number = at + list * perRequest + place;
        return { city: 'x', number, note: `write ${number}` };
      }),
    );
    await Promise.all(
      lists.map(async (list) => {
        const headers = { authorization, structure, 'content-type': 'application/json' };
        const answer = await fetch(`${url}/bench/live`, {
          method: 'POST',
          headers,
          body: JSON.stringify(list),
        });
        if (!answer.ok) throw new Error(await answer.text());
        await answer.arrayBuffer();
      }),
    );
  }
  return performance.now() - began;
}

/** Waits for the events of all writes. @returns the 99th percentile from a write's answer to its event. Milliseconds */
export async function delayOf(heard: Arrivals, { answered }: WriteResult): Promise<number> {
  const deadline = performance.now() + limit;
  while ([...answered.keys()].some((number) => !heard.at.has(number))) {
    if (performance.now() > deadline) throw new Error('some writes had no event');
    await sleep(20);
  }
  const delays = [...answered].map(([number, at]) => Math.max(0, (heard.at.get(number) as number) - at));
  delays.sort((one, other) => one - other);
  return delays[Math.floor(delays.length * 0.99)] as number;
}
