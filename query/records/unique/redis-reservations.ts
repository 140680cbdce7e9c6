import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisConnection, RedisFailure } from '#coordination/redis/redis-connection.ts';
import { invalidBody, overloaded, unavailable } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import { type LeaseSession, LeaseSessions, type LeaseTimes, usualTimes } from './lease-sessions.ts';
import { type Claim, digestOf, ReservationStore, type ReserveAnswer } from './reservation-store.ts';
import {
  createLocalReservations,
  type LocalLimits,
  type Reservation,
  type UniqueReservations,
  usualWait,
  waitFor,
} from './unique-reservations.ts';

/** Values of unique fields that a request can store. */
export const mostReserved = 50_000;
/** Longest pause between two attempts while nothing can be reserved yet. */
const closedPause = 250;
const closedProblem = 'values of unique fields wait until reservations that were lost are over';
const lostPause = 20;
const lostProblem = 'reservations of values of unique fields are lost again and again';
/** How often Redis is asked whether another process still holds a value, and for how many values at once. */
const watchPause = { shortest: 5, longest: 50 };
const watchLimit = 1000;

interface ClaimAnswer {
  readonly answer: ReserveAnswer;
  readonly session: LeaseSession;
  readonly claim: Claim;
}

type Wait = (event: Promise<void>, what?: string) => Promise<void>;

/**
 * Locks on unique values, in Redis, between processes (docs/decisions/010-unique-values-between-processes.md). Writes of
 * one process queue in its memory first, so that one at a time asks Redis for a value.
 */
export class RedisReservations implements UniqueReservations {
  readonly #times: LeaseTimes;
  readonly #waitLimit: number;
  readonly #requestLimit: number;
  readonly #local: UniqueReservations;
  readonly #reservations: ReservationStore;
  readonly #sessions: LeaseSessions;
  /** For values that other processes hold and requests of this process wait for: resolves when they are free. */
  readonly #watched = new Map<string, Promise<void>>();

  /**
   * @param args.everUsed whether there may have been reservations before Redis knew of any
   * @param args.requestLimit keys of one call: a script with more would keep others waiting
   */
  constructor(
    args: LocalLimits & {
      readonly redis: RedisConnection;
      readonly log: Log;
      readonly everUsed: (signal: AbortSignal) => Promise<boolean>;
      readonly times?: LeaseTimes;
      readonly requestLimit?: number;
      readonly reservationsKey?: string;
    },
  ) {
    const { redis, log, everUsed, times = usualTimes, requestLimit = mostReserved, reservationsKey } = args;
    this.#times = times;
    this.#waitLimit = args.waitLimit ?? usualWait;
    this.#requestLimit = requestLimit;
    this.#local = createLocalReservations(args);
    this.#reservations = new ReservationStore({ redis, lease: times.lease, key: reservationsKey });
    this.#sessions = new LeaseSessions({ reservations: this.#reservations, times, everUsed, log });
    redis.onConnected(() => this.#sessions.keep());
  }

  async reserve(
    keys: readonly string[],
    signal: AbortSignal,
    patience = this.#waitLimit,
  ): ReturnType<UniqueReservations['reserve']> {
    if (keys.length > this.#requestLimit) {
      throw invalidBody(`A request can store at most ${this.#requestLimit} values of unique fields`);
    }
    if (keys.length === 0) return this.#local.reserve(keys, signal, patience);
    try {
      return await this.#reserve(keys, signal, patience);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      throw unavailable('Unique values, and Idempotency-Keys, can not be reserved at the moment', error);
    }
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }

  async #reserve(
    keys: readonly string[],
    signal: AbortSignal,
    patience: number,
  ): ReturnType<UniqueReservations['reserve']> {
    const digests = keys.map(digestOf);
    let deadline: AbortSignal | null = null;
    const wait: Wait = (event, what) => {
      deadline ??= AbortSignal.timeout(Math.min(patience, this.#waitLimit));
      return waitFor(event, signal, deadline, what);
    };
    for (;;) {
      const watched = digests.find((digest) => this.#watched.has(digest));
      if (watched !== undefined) {
        await wait(this.#untilFree(watched));
        continue;
      }
      const own = await this.#local.reserve(keys, signal, patience);
      if ('takenKey' in own) return own;
      let reservation: Reservation | null = null;
      try {
        const claimed = await this.#claim(digests);
        if (claimed.answer.kind === 'taken') {
          reservation = this.#reservationOf(own.reservation, claimed);
          signal.throwIfAborted();
          return { reservation };
        }
        // nothing is held while waiting
        await own.reservation.settle([]);
        await this.#beforeAnotherTry(claimed.answer, wait);
      } catch (error) {
        await (reservation ?? own.reservation).settle([]);
        throw error;
      }
    }
  }

  async #beforeAnotherTry(answer: ReserveAnswer, wait: Wait): Promise<void> {
    if (answer.kind === 'held') await wait(this.#untilFree(answer.digest));
    if (answer.kind === 'closed') await wait(sleep(Math.min(answer.wait, closedPause)), closedProblem);
    // try with the next session, but not forever
    if (answer.kind === 'lost') await wait(sleep(lostPause), lostProblem);
  }

  /** All writes that wait for a value are woken at once. Rejects with a RedisFailure when its state is unknown. */
  #untilFree(digest: string): Promise<void> {
    const known = this.#watched.get(digest);
    if (known !== undefined) return known;
    if (this.#watched.size >= watchLimit) throw overloaded('too many values of unique fields are waited for');
    const free = this.#watch(digest).finally(() => this.#watched.delete(digest));
    // the waiting writes may have given up
    free.catch(() => {});
    this.#watched.set(digest, free);
    return free;
  }

  /** Ends at the latest with the lease of the holder. */
  async #watch(digest: string): Promise<void> {
    let pause = watchPause.shortest;
    do {
      await sleep(pause);
      pause = Math.min(pause * 1.5, watchPause.longest);
    } while (!(await this.#reservations.isFree(digest)));
  }

  /** Sends one command to Redis. Refused keys stay free. */
  async #claim(digests: readonly string[]): Promise<ClaimAnswer> {
    const sessions = this.#sessions;
    const session = await sessions.enter();
    const claim = { session: session.id, write: session.writes++, digests };
    try {
      const answer = await this.#reservations.reserve(claim);
      if (answer.kind !== 'taken') {
        sessions.leave(session);
        if (answer.kind === 'lost') sessions.lose(session);
      }
      return { answer, session, claim };
    } catch (error) {
      if (!(error instanceof RedisFailure) || error.mayHaveRun) sessions.retire(session);
      sessions.leave(session);
      throw error;
    }
  }

  /** Does not wait for Redis: the next command of this process comes later, and a lost command ends the session. */
  async #release({ session, claim }: ClaimAnswer): Promise<void> {
    try {
      await this.#reservations.release(claim);
    } catch {
      this.#sessions.retire(session);
    }
    this.#sessions.leave(session);
  }

  #reservationOf(own: Reservation, claimed: ClaimAnswer): Reservation {
    let settled = false;
    return {
      permit: {
        timeLimit: this.#times.writeTime,
        check() {
          if (claimed.session.coversWrite()) return;
          throw unavailable('The reservation of values of unique fields ran out');
        },
      },
      settle: async (stored) => {
        if (settled) return;
        settled = true;
        void this.#release(claimed);
        await own.settle(stored);
      },
    };
  }
}
