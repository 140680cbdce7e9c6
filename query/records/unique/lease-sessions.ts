import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisFailure } from '#coordination/redis/redis-connection.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ReservationStore } from './reservation-store.ts';

/** Milliseconds. All processes must have the same `lease`: changing it requires another `reservationsKey`. */
export interface LeaseTimes {
  /** How long a session lasts without being renewed, by Redis' clock. */
  readonly lease: number;
  /** Subtracted from the lease on our clock, because clocks may run at different speeds. */
  readonly margin: number;
  /** The longest write. No write begins when less of the lease is left. */
  readonly writeTime: number;
  readonly renewEvery: number;
}

/** Two consecutive renewals may fail before writes are held back. */
export const usualTimes: LeaseTimes = { lease: 15_000, margin: 1500, writeTime: 6000, renewEvery: 2500 };

/** A point in time by two clocks. Milliseconds. */
interface Moment {
  /** Never set, but stands still while a virtual machine is paused. */
  readonly monotonic: number;
  readonly wall: number;
}

function currentMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds between two points, by the clock that shows more: a lease had better end too early than too late. */
function elapsed(from: Moment, to: Moment): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** A session of a process: one lease on everything that its writes hold. */
export class LeaseSession {
  readonly id = randomBytes(12).toString('base64url');
  readonly #times: LeaseTimes;
  readonly #now: () => Moment;
  /** When the command that last granted the lease was sent: the lease began no earlier. */
  sent: Moment;
  /** Redis no longer knows the session: no write may begin under it. */
  lost = false;
  /** Writes that hold a reservation or are about to, and the number of all writes so far. */
  held = 0;
  writes = 0;

  constructor(times: LeaseTimes, now: () => Moment) {
    this.#times = times;
    this.#now = now;
    this.sent = now();
  }

  /** Whether a write that begins now ends before the lease does. */
  coversWrite(): boolean {
    const { lease, margin, writeTime } = this.#times;
    return !this.lost && elapsed(this.sent, this.#now()) + writeTime <= lease - margin;
  }
}

/** For checking whether there ever were reservations. */
const lookTimeout = 5000;
/** Time for writes of disconnected clients when the process ends. */
const closeTimeout = 5000;

interface LeaseSessionsParts {
  readonly reservations: ReservationStore;
  readonly times: LeaseTimes;
  /** Whether there may have been reservations that Redis has lost. */
  readonly everUsed: (signal: AbortSignal) => Promise<boolean>;
  readonly log: Log;
}

/**
 * The leases of this process. There is a current one for new writes. When an answer was lost, its reservations are
 * unknown, so the next write gets a new lease. The old lease lasts until its writes are done, and then its reservations end.
 */
export class LeaseSessions {
  readonly #parts: LeaseSessionsParts;
  readonly #sessions = new Set<LeaseSession>();
  readonly #timer: NodeJS.Timeout;
  #current: LeaseSession | null = null;
  #opening: Promise<LeaseSession> | null = null;
  #renewing: Promise<void> | null = null;
  #sweepCursor = '0';
  #closed = false;

  constructor(parts: LeaseSessionsParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.keep(), parts.times.renewEvery).unref();
  }

  /** The session for a new write, which holds it from now on. Rejects with a RedisFailure. */
  async enter(): Promise<LeaseSession> {
    let session = this.#current;
    if (session !== null && !session.coversWrite()) {
      this.retire(session);
      session = null;
    }
    session ??= await this.#open();
    session.held++;
    return session;
  }

  leave(session: LeaseSession): void {
    session.held--;
    if (session.held === 0 && session !== this.#current) this.#end(session);
  }

  /** Retires the session, because it is lost or its reservations are unknown: no new write gets it. */
  retire(session: LeaseSession): void {
    if (this.#current === session) this.#current = null;
    if (session.held === 0 || session.lost) this.#end(session);
  }

  lose(session: LeaseSession): void {
    session.lost = true;
    this.retire(session);
  }

  /** Renews the sessions, and makes sure that there is a current one. */
  keep(): void {
    this.#renewing ??= this.#keep()
      // the connection reports its outages; leases that can't be renewed expire, and their writes don't begin
      .catch((error: unknown) => {
        if (!(error instanceof RedisFailure))
          this.#parts.log.error({ err: error }, 'leases were not renewed');
      })
      .finally(() => {
        this.#renewing = null;
      });
  }

  /** Waits for running writes, and ends the leases, so that no other process has to wait for their expiry. */
  async close(): Promise<void> {
    this.#closed = true;
    const deadline = AbortSignal.timeout(closeTimeout);
    while (!deadline.aborted && [...this.#sessions].some(({ held }) => held > 0)) await sleep(20);
    clearInterval(this.#timer);
    await this.#renewing;
    const idle = [...this.#sessions].filter(({ held }) => held === 0).map(({ id }) => id);
    this.#sessions.clear();
    if (idle.length > 0) await this.#parts.reservations.end(idle).catch(() => {});
  }

  async #keep(): Promise<void> {
    const sessions = [...this.#sessions];
    if (sessions.length > 0) {
      const sent = currentMoment();
      const goOn = await this.#parts.reservations.renew(sessions.map(({ id }) => id));
      sessions.forEach((session, i) => {
        if (goOn[i] === true) session.sent = sent;
        else this.lose(session);
      });
    }
    // at once, rather than with the next write: after a loss, the wait begins now
    if (this.#current === null && !this.#closed) await this.#open();
    this.#sweepCursor = await this.#parts.reservations.sweep(this.#sweepCursor);
  }

  #open(): Promise<LeaseSession> {
    this.#opening ??= this.#begin().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #begin(): Promise<LeaseSession> {
    const session = new LeaseSession(this.#parts.times, currentMoment);
    const { began, epoch } = await this.#parts.reservations.open(session.id);
    this.#sessions.add(session);
    this.#current = session;
    if (began) await this.#beginEpoch(epoch);
    return session;
  }

  /** A space is in the catalogue before one of its values is reserved: without spaces there were no reservations. */
  async #beginEpoch(epoch: string): Promise<void> {
    const used = await this.#parts.everUsed(AbortSignal.timeout(lookTimeout)).catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'it is not known whether there were reservations before');
      return true;
    });
    if (!used) return this.#parts.reservations.openEarly(epoch);
    this.#parts.log.warn(
      { wait: this.#parts.times.lease },
      'Redis has lost, or never had, the reservations of unique values: writes of such values wait for one lease',
    );
  }

  #end(session: LeaseSession): void {
    if (!this.#sessions.delete(session) || session.lost) return;
    // if this command gets lost, the lease expires
    this.#parts.reservations.end([session.id]).catch(() => {});
  }
}
