import { eventStream, oneLine } from '#server/http/event-stream.ts';
import { acceptQuery } from '../input/query-media-type.ts';

/** What happened to a record, for those who watch a find. */
export type ChangeType = 'enter' | 'change' | 'leave';

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

/** An event as a stream sends it. @param data JSON */
export function eventBytes(
  type: ChangeType | 'snapshot' | 'ready' | 'reset',
  id: string,
  data: string,
): Buffer {
  return Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${oneLine(data)}\n\n`);
}

/**
 * A line before an event, or before the end. An empty line behind it would make an event of no data in httpx-sse, r3labs/sse
 * and go-sse.
 * @param milliseconds after which a client whose stream ends comes back
 */
export function retryBytes(milliseconds: number): Buffer {
  return Buffer.from(`retry: ${milliseconds}\n`);
}
