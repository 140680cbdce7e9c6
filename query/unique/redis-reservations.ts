import { setTimeout as sleep } from 'node:timers/promises';
import { invalidBody, unavailable } from '../../common/errors/catalogue.ts';
import type { Log } from '../../common/log/log.ts';
import { type RedisConnection, RedisFailure } from '../../common/redis/redis-connection.ts';
import { HeldKeys } from './held-keys.ts';
import { type LeaseSession, type LeaseTimes, usualTimes } from './lease-session.ts';
import { LeaseSessions } from './lease-sessions.ts';
import { type Claim, createLedger, digestOf, type ReserveAnswer } from './ledger.ts';
import {
  createLocalReservations,
  type Reservation,
  type UniqueReservations,
  waitFor,
} from './unique-reservations.ts';

/** Longest pause between two looks at a ledger that gives nothing yet. */
const closedPause = 250;
const closedProblem = 'values of unique fields wait until reservations that were lost are over';
const lostPause = 20;
const lostProblem = 'reservations of values of unique fields are lost again and again';

/**
 * Reservations that hold between processes (docs/decisions/010-unique-values-between-processes.md). Writes of one process
 * meet in its memory first, so that of many that want a value one at a time asks Redis.
 * @param args.everUsed whether there may have been reservations before Redis knew of any
 * @param args.waitLimit milliseconds @param args.keyLimit keys that may be reserved at once by this process
 * @param args.requestLimit keys of one call: what one script takes without keeping others waiting
 */
export function createRedisReservations(args: {
  redis: RedisConnection;
  log: Log;
  everUsed: (signal: AbortSignal) => Promise<boolean>;
  times?: LeaseTimes;
  waitLimit?: number;
  keyLimit?: number;
  requestLimit?: number;
  ledgerKey?: string;
}): UniqueReservations {
  const { redis, log, everUsed, times = usualTimes } = args;
  const { waitLimit = 15_000, keyLimit = 1_000_000, requestLimit = 50_000, ledgerKey } = args;
  const local = createLocalReservations({ waitLimit, keyLimit });
  const ledger = createLedger({
    redis,
    lease: times.lease,
    ...(ledgerKey === undefined ? {} : { key: ledgerKey }),
  });
  const sessions = new LeaseSessions({ ledger, times, everUsed, log });
  const heldKeys = new HeldKeys(ledger);
  redis.onConnected(() => sessions.keep());

  /** Asks Redis once. What was not given is left, whatever happens. */
  const claim = async (
    digests: readonly string[],
  ): Promise<{ answer: ReserveAnswer; session: LeaseSession; claimed: Claim }> => {
    const session = await sessions.enter();
    const claimed = { session: session.id, write: session.nextWrite(), digests };
    try {
      const answer = await ledger.reserve(claimed);
      if (answer.kind !== 'taken') {
        sessions.leave(session);
        if (answer.kind === 'lost') sessions.lose(session);
      }
      return { answer, session, claimed };
    } catch (error) {
      if (!(error instanceof RedisFailure) || error.mayHaveRun) sessions.outcomeUnknown(session);
      sessions.leave(session);
      throw error;
    }
  };

  /** Nobody waits for Redis here: the next command of this process comes after, and a loss ends the session. */
  const release = (session: LeaseSession, claimed: Claim): void => {
    ledger
      .release(claimed)
      .catch(() => sessions.outcomeUnknown(session))
      .finally(() => sessions.leave(session));
  };

  const reservationOf = (own: Reservation, session: LeaseSession, claimed: Claim): Reservation => {
    let settled = false;
    return {
      permit: {
        timeLimit: times.writeTime,
        check() {
          if (!session.coversWrite()) throw unavailable('The reservation of values of unique fields ran out');
        },
      },
      async settle(stored) {
        if (settled) return;
        settled = true;
        release(session, claimed);
        await own.settle(stored);
      },
    };
  };

  const reserve: UniqueReservations['reserve'] = async (keys, signal, patience = waitLimit) => {
    if (keys.length > requestLimit) {
      throw invalidBody(`A request can store at most ${requestLimit} values of unique fields`);
    }
    if (keys.length === 0) return local.reserve(keys, signal, patience);
    const digests = keys.map(digestOf);
    let deadline: AbortSignal | null = null;
    const wait = (event: Promise<void>, what?: string): Promise<void> => {
      deadline ??= AbortSignal.timeout(Math.min(patience, waitLimit));
      return waitFor(event, signal, deadline, what);
    };
    for (;;) {
      const watched = digests.find((digest) => heldKeys.has(digest));
      if (watched !== undefined) {
        await heldKeys.untilFree(watched, wait);
        continue;
      }
      const own = await local.reserve(keys, signal, patience);
      if ('takenKey' in own) return own;
      let reservation: Reservation | null = null;
      try {
        const { answer, session, claimed } = await claim(digests);
        if (answer.kind === 'taken') {
          reservation = reservationOf(own.reservation, session, claimed);
          signal.throwIfAborted();
          return { reservation };
        }
        // nothing is held while waiting
        await own.reservation.settle([]);
        if (answer.kind === 'held') await heldKeys.untilFree(answer.digest, wait);
        if (answer.kind === 'closed') await wait(sleep(Math.min(answer.wait, closedPause)), closedProblem);
        // the next session, but not without an end
        if (answer.kind === 'lost') await wait(sleep(lostPause), lostProblem);
      } catch (error) {
        await (reservation ?? own.reservation).settle([]);
        throw error;
      }
    }
  };

  return {
    async reserve(keys, signal, patience) {
      try {
        return await reserve(keys, signal, patience);
      } catch (error) {
        if (!(error instanceof RedisFailure)) throw error;
        throw unavailable('Values of unique fields can not be stored at the moment', error);
      }
    },
    close: () => sessions.close(),
  };
}
