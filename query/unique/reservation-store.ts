import { createHash } from 'node:crypto';
import type { RedisConnection, RedisScript } from '../../common/redis/redis-connection.ts';
import {
  digestLength,
  endScript,
  freeScript,
  openEarlyScript,
  openScript,
  releaseScript,
  renewScript,
  reservationsKey,
  reserveScript,
  sweepScript,
} from './reservation-scripts.ts';

/** The reservations of one write: its session, and the digests of its keys. */
export interface Claim {
  readonly session: string;
  readonly write: number;
  readonly digests: readonly string[];
}

export type ReserveAnswer =
  | { readonly kind: 'taken' }
  /** Another write has one of them. */
  | { readonly kind: 'held'; readonly digest: string }
  /** Nothing is given yet. @param wait milliseconds */
  | { readonly kind: 'closed'; readonly wait: number }
  /** The session is over. */
  | { readonly kind: 'lost' };

const sweepCount = 1000;

/** Reservations in Redis: its scripts as calls. All reject with a RedisFailure. */
export class ReservationStore {
  readonly #run: (script: RedisScript, values: readonly (string | number)[]) => Promise<unknown>;
  readonly #lease: number;

  /** @param args.lease milliseconds that a session lasts without being renewed */
  constructor(args: { redis: RedisConnection; lease: number; key?: string | undefined }) {
    const { redis, lease, key = reservationsKey } = args;
    this.#run = (script, values) => redis.run(script, [key], values);
    this.#lease = lease;
  }

  async open(session: string): Promise<{ readonly began: boolean; readonly epoch: string }> {
    const [began, epoch] = (await this.#run(openScript, [session, this.#lease])) as [number, string];
    return { began: began === 1, epoch };
  }

  async openEarly(epoch: string): Promise<void> {
    await this.#run(openEarlyScript, [epoch]);
  }

  /** Answers for each whether it goes on. */
  async renew(sessions: readonly string[]): Promise<readonly boolean[]> {
    const goOn = (await this.#run(renewScript, [this.#lease, ...sessions])) as number[];
    return goOn.map((one) => one === 1);
  }

  async end(sessions: readonly string[]): Promise<void> {
    await this.#run(endScript, sessions);
  }

  async reserve({ session, write, digests }: Claim): Promise<ReserveAnswer> {
    const answer = await this.#run(reserveScript, [session, write, digests.join('')]);
    const [kind, number = 0] = answer as [ReserveAnswer['kind'], number?];
    if (kind === 'held') return { kind, digest: digests[number] as string };
    return kind === 'closed' ? { kind, wait: number } : { kind };
  }

  async release({ session, write, digests }: Claim): Promise<void> {
    await this.#run(releaseScript, [session, write, digests.join('')]);
  }

  /** Whether nobody holds it. */
  async isFree(digest: string): Promise<boolean> {
    return (await this.#run(freeScript, [digest])) === 1;
  }

  /** @param cursor of the page to sweep @returns that of the next */
  async sweep(cursor: string): Promise<string> {
    return (await this.#run(sweepScript, [cursor, sweepCount])) as string;
  }
}

/** A key as Redis knows it: short, and nothing of the value can be read in Redis. 144 bits of SHA-256. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64').slice(0, digestLength);
}
