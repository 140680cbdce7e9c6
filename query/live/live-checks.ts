import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kernel/errors/api-error.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { OpenSpace } from '../space/open-space.ts';
import { LiveRequest } from './live-request.ts';
import type { OpenStream } from './open-stream.ts';

/** Milliseconds between two checks of whether streams are still allowed. */
export const checkEvery = 400;
const timeout = 5000;
/** Milliseconds for which checks share a timeout signal. */
const sharedFor = 1000;

/** Checks whether streams are still allowed, and whether their spaces still look the same. */
export class LiveChecks {
  readonly #openSpace: OpenSpace;
  #signal: AbortSignal | null = null;
  #sharedUntil = 0;

  /** @param openSpace must not count requests for rate limits */
  constructor(openSpace: OpenSpace) {
    this.#openSpace = openSpace;
  }

  /** The space of a request as it is now. Throws if the request is no longer allowed. */
  async view({
    request: opening,
    operation,
  }: Pick<OpenStream, 'request' | 'operation'>): Promise<RecordSpace> {
    const request = new LiveRequest(opening, { signal: this.#timeout() });
    try {
      return await this.#openSpace(request, operation);
    } finally {
      request.over();
    }
  }

  /**
   * Whether a stream may continue, and send what was read for it before this call. The space is opened as for a find, so
   * a user who lost a right hears of no record that a find would hide. For streams without a user, changed rules reset the
   * stream before anything is written under them. Throws if the request is no longer allowed.
   * @param isOpened whether to open the space, by default for streams with a user
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
        if (!isTransient(error)) throw error;
        await sleep(checkEvery);
      }
    }
  }

  /** A new signal for each check would cost more than the check. */
  #timeout(): AbortSignal {
    const now = performance.now();
    if (this.#signal === null || now > this.#sharedUntil) {
      this.#signal = AbortSignal.timeout(timeout + sharedFor);
      setMaxListeners(0, this.#signal);
      this.#sharedUntil = now + sharedFor;
    }
    return this.#signal;
  }
}

/** Whether a retry may succeed. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500;
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** Whether two views show the same space in the same way. Views of users are remade now and then. */
export function isSame(one: RecordSpace, other: RecordSpace): boolean {
  if (one === other) return true;
  const { bound } = one;
  if (one.missing !== other.missing) return false;
  // a space that nobody has made gets another id each time, and has nothing to show
  const isUnmade = one.missing === true && one.catalogueId === other.catalogueId;
  if (!isUnmade && (one.id !== other.id || one.structure !== other.structure)) return false;
  return JSON.stringify(bound?.find) === JSON.stringify(other.bound?.find);
}
