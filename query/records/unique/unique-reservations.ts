import type { WritePermit } from '#engine/write-permit.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';

/** A write's locks on values of unique fields, until it is settled. */
export interface Reservation {
  /** Required for a write of the values to begin; null: the reservation lasts until it is settled, whatever happens. */
  readonly permit: WritePermit | null;
  /** Gives the keys back. @param stored the keys of values that are now known to be stored */
  settle(stored: Iterable<string>): Promise<void>;
}

/**
 * Locks on unique values, held from before the check of the table until after the INSERT. A key stands for one value of
 * one field of one space.
 */
export interface UniqueReservations {
  /**
   * Takes all keys at once or none. While another write has one of them it waits for that write to settle; a key that
   * turns out to be stored then is answered as `takenKey`. Rejects with 503 when it waits too long or too many keys
   * are reserved. @param keys without repetition
   * @param patience milliseconds to wait at most, where that is less than usual
   */
  reserve(
    keys: readonly string[],
    signal: AbortSignal,
    patience?: number,
  ): Promise<{ readonly reservation: Reservation } | { readonly takenKey: string }>;
  /** When no request runs any more. */
  close(): Promise<void>;
}

interface Holder {
  readonly settled: Promise<void>;
  readonly stored: Set<string>;
}

export interface LocalLimits {
  /** Milliseconds. */
  readonly waitLimit?: number;
  /** Keys that may be reserved at once by this process. */
  readonly keyLimit?: number;
}
export const usualWait = 15_000;

export function createLocalReservations(limits: LocalLimits = {}): UniqueReservations {
  const { waitLimit = usualWait, keyLimit = 1_000_000 } = limits;
  const holders = new Map<string, Holder>();

  return {
    async reserve(keys, signal, patience = waitLimit) {
      let deadline: AbortSignal | null = null;
      for (;;) {
        signal.throwIfAborted();
        const wanted = keys.find((key) => holders.has(key));
        if (wanted === undefined) break;
        const holder = holders.get(wanted) as Holder;
        deadline ??= AbortSignal.timeout(Math.min(patience, waitLimit));
        await waitFor(holder.settled, signal, deadline);
        if (holder.stored.has(wanted)) return { takenKey: wanted };
      }
      // a single request may have more, because its size is bounded elsewhere
      if (holders.size > 0 && holders.size + keys.length > keyLimit) {
        throw overloaded('too many values of unique fields are being stored');
      }
      return { reservation: take(keys) };
    },
    async close() {},
  };

  function take(keys: readonly string[]): Reservation {
    const stored = new Set<string>();
    let release: () => void = () => {};
    const settled = new Promise<void>((resolve) => {
      release = resolve;
    });
    const holder = { settled, stored };
    for (const key of keys) holders.set(key, holder);
    let held = true;
    return {
      permit: null,
      async settle(storedKeys) {
        if (!held) return;
        held = false;
        for (const key of storedKeys) stored.add(key);
        for (const key of keys) holders.delete(key);
        release();
      },
    };
  }
}

/** Waits for another write. Rejects with 503 at the deadline, and with the request's own reason when it is aborted. */
export async function waitFor(
  settled: Promise<void>,
  signal: AbortSignal,
  deadline: AbortSignal,
  what = 'another write of the same unique value takes too long',
): Promise<void> {
  try {
    await untilAborted(untilAborted(settled, deadline), signal);
  } catch (error) {
    throw deadline.aborted && !signal.aborted ? overloaded(what) : error;
  }
}
