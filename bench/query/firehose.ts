import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectionPool } from '../../load/http/connection-pool.ts';
import { LiveStream } from '../../load/live/live-stream.ts';
import { inLanes } from '../../load/verify/in-lanes.ts';
import { authorization, structureOf } from './direct-store.ts';

const structure = structureOf('firehose', [
  { name: 'round', type: 'NUMBER' },
  { name: 'city', type: 'TEXT' },
  { name: 'note', type: 'TEXT' },
]);
const fields = `host: 127.0.0.1\r\nauthorization: ${authorization}\r\nstructure: ${structure}\r\n`;
const recordsOfInsert = 100;
const insertsAtOnce = 8;
/** Records that the stream may be behind: of a space, a process keeps 10,000 changes. */
const mostBehind = 5000;
const limit = 60_000;

/**
 * Inserts records beside one stream that matches all of them.
 * @param round from 1 on, another one each time
 * @returns events a second, from the first to the last
 */
export async function firehose(url: string, round: number, records: number): Promise<number> {
  const signal = AbortSignal.timeout(limit);
  const pool = new ConnectionPool(url);
  const insert = async (inRound: number): Promise<void> => {
    const record = { round: inRound, city: 'x', note: 'a write' };
    const body = Buffer.from(JSON.stringify(Array.from({ length: recordsOfInsert }, () => record)));
    const more = `content-type: application/json\r\ncontent-length: ${body.byteLength}\r\n`;
    const { status } = await pool.send(`POST /bench/firehose HTTP/1.1\r\n${fields}${more}\r\n`, body, {
      signal,
    });
    if (status !== 200) throw new Error(`an insert was answered ${status}`);
  };
  // a stream of a space that is made later begins anew
  await insert(0);
  let [first, last] = [0, 0];
  const stream = new LiveStream({
    head: `GET /bench/firehose?round=${round} HTTP/1.1\r\n${fields}accept: text/event-stream\r\n`,
    connect: (signal) => pool.connect(signal),
    find: async () => [],
    heard() {
      last = performance.now();
      if (first === 0) first = last;
    },
  });
  const hear = async (least: number): Promise<void> => {
    for (; stream.records.events < least; await sleep(1))
      if (signal.aborted || stream.ends > 0)
        throw new Error(`${stream.records.events} of ${least} events came ${stream.lastEnd}`);
  };
  try {
    await stream.settled;
    const sent = Array.from({ length: records / recordsOfInsert }, (_, at) => at * recordsOfInsert);
    await inLanes(sent, insertsAtOnce, async (before) => {
      await hear(before - mostBehind);
      await insert(round);
    });
    await hear(records);
    return ((records - 1) * 1000) / (last - first);
  } finally {
    stream.close();
    pool.close();
  }
}
