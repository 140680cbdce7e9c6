import { eventStream, oneLine } from '#server/http/event-stream.ts';
import { acceptQuery } from '../input/query-media-type.ts';

/** What happened to a record, as seen by a live query. */
export type ChangeType = 'enter' | 'change' | 'leave';

/** Headers that make proxies forward each event immediately (docs/reverse-proxies.md). */
export const eventHeaders = {
  'content-type': `${eventStream}; charset=utf-8`,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  vary: 'accept',
  ...acceptQuery,
};

/** An event id without a position: a client that reconnects with it gets a snapshot. */
export const noCursor = '0';

/** An event as a stream sends it. @param data JSON */
export function eventBytes(
  type: ChangeType | 'snapshot' | 'ready' | 'reset',
  id: string,
  data: string,
): Buffer {
  return Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${oneLine(data)}\n\n`);
}

/**
 * A line before an event, or at the end. An empty line after it would make an event without data in httpx-sse, r3labs/sse and
 * go-sse.
 * @param milliseconds after which a client reconnects when its stream ends
 */
export function retryBytes(milliseconds: number): Buffer {
  return Buffer.from(`retry: ${milliseconds}\n`);
}
