import { acceptQuery } from '../input/query-media-type.ts';

/** What happened to a record, for those who watch a find. */
export type ChangeType = 'enter' | 'change' | 'leave';

export const eventStream = 'text/event-stream';

/** Of the answers, so that proxies pass each event on at once (docs/reverse-proxies.md). */
export const eventHeaders = {
  'content-type': `${eventStream}; charset=utf-8`,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  vary: 'accept',
  ...acceptQuery,
};

/** An event id that nothing resumes from: a client that reconnects with it gets a snapshot. */
export const noPlace = '0';

/** An event as a stream sends it (HTML, section 9.2). @param data JSON */
export function eventBytes(
  type: ChangeType | 'snapshot' | 'ready' | 'reset',
  id: string,
  data: string,
): Buffer {
  // a line break in JSON is white space
  const line = data.includes('\n') || data.includes('\r') ? data.replace(/[\r\n]/g, ' ') : data;
  return Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${line}\n\n`);
}

/** Tells proxies, and those who wait, that the stream is alive. */
export const aliveBytes = Buffer.from(':\n\n');

/** @param milliseconds after which a client whose stream ends comes back */
export function retryBytes(milliseconds: number): Buffer {
  return Buffer.from(`retry: ${milliseconds}\n\n`);
}
