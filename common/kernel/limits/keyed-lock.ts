import { overloaded } from '../errors/catalogue.ts';
import { untilAborted } from './deadline.ts';

const waitersPerKey = 1000;

/** A mutex for each key, first come, first served. */
export class KeyedLock {
  readonly #keys = new Map<string, { tail: Promise<unknown>; count: number }>();

  /** Skips the work if the signal is aborted before it starts; once started, it runs to its end. */
  run<Result>(key: string, work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    let state = this.#keys.get(key);
    if (state === undefined) {
      state = { tail: Promise.resolve(), count: 0 };
      this.#keys.set(key, state);
    }
    if (state.count >= waitersPerKey)
      throw overloaded('too many requests wait for the same record or record space');
    const { tail } = state;
    state.count++;
    const result = tail.then(() => {
      signal.throwIfAborted();
      return work();
    });
    const done = (): void => {
      state.count--;
      if (state.count === 0) this.#keys.delete(key);
    };
    state.tail = result.then(done, done);
    return untilAborted(result, signal);
  }
}
