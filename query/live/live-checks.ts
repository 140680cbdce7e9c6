import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kernel/errors/api-error.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { OpenSpace } from '../space/open-space.ts';
import { LiveRequest } from './live-request.ts';
import type { OpenStream } from './open-stream.ts';

/** Milliseconds between two checks whether streams are still allowed. */
export const checkEvery = 400;
const timeout = 5000;
/** Milliseconds for which checks share the signal of their timeout. */
const shared = 1000;

/** Whether streams are still allowed, and their spaces seen as before. */
export class LiveChecks {
  readonly #openSpace: OpenSpace;
  #signal: AbortSignal | null = null;
  #sharedUntil = 0;

  /** @param openSpace does not count requests for rate limits */
  constructor(openSpace: OpenSpace) {
    this.#openSpace = openSpace;
  }

  /** The space of a request as it is now. Throws when the request is not allowed any more. */
  async view({ request: given, operation }: Pick<OpenStream, 'request' | 'operation'>): Promise<RecordSpace> {
    const request = new LiveRequest(given, { signal: this.#timeout() });
    try {
      return await this.#openSpace(request, operation);
    } finally {
      request.over();
    }
  }

  /**
   * Whether a stream goes on, and may send what was read for it before this call: the space is opened as for a find, so
   * that a user who lost a right hears of no record that a find would not show him. Without a user, other rules reset
   * the stream before anything is written under them. Throws when the request is not allowed any more.
   * @param isOpened whatever the stream: the space is opened
   */
  async maySend(open: OpenStream, isOpened = open.isOfUser): Promise<boolean> {
    const { stream, view } = open;
    for (;;) {
      if (stream.isReset || stream.endedBy !== null) return false;
      if (!isOpened || view === null) return true;
      try {
        if (!isSame(view, await this.view(open))) stream.reset();
        return !stream.isReset && stream.endedBy === null;
      } catch (error) {
        if (!isPassing(error)) throw error;
        await sleep(checkEvery);
      }
    }
  }

  /** A signal of its own would cost more than a check. */
  #timeout(): AbortSignal {
    const now = performance.now();
    if (this.#signal === null || now > this.#sharedUntil) {
      this.#signal = AbortSignal.timeout(timeout + shared);
      setMaxListeners(0, this.#signal);
      this.#sharedUntil = now + shared;
    }
    return this.#signal;
  }
}

/** Whether what answers nothing now may do so later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500;
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** Whether a space is seen alike. Views of users are made anew now and then. */
export function isSame(one: RecordSpace, other: RecordSpace): boolean {
  if (one === other) return true;
  const { bound } = one;
  if (one.id !== other.id || one.structure !== other.structure || one.missing !== other.missing) return false;
  return JSON.stringify(bound?.find) === JSON.stringify(other.bound?.find);
}
