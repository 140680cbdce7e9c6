import { createHash } from 'node:crypto';
import type { RedisConnection, RedisScript } from '../../common/redis/redis-connection.ts';
import {
  digestLength,
  endScript,
  freeScript,
  ledgerKey,
  openEarlyScript,
  openScript,
  releaseScript,
  renewScript,
  reserveScript,
  sweepScript,
} from './reservation-scripts.ts';

/** What one write wants or holds: whose it is, and the digests of its keys. */
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

/** The scripts of the ledger as calls. All reject with a RedisFailure. */
export interface Ledger {
  open(session: string): Promise<{ readonly began: boolean; readonly epoch: string }>;
  openEarly(epoch: string): Promise<void>;
  /** Answers for each whether it goes on. */
  renew(sessions: readonly string[]): Promise<readonly boolean[]>;
  end(sessions: readonly string[]): Promise<void>;
  reserve(claim: Claim): Promise<ReserveAnswer>;
  release(claim: Claim): Promise<void>;
  /** Those that nobody holds. */
  free(digests: readonly string[]): Promise<readonly string[]>;
  /** @param cursor of the page to sweep @returns that of the next */
  sweep(cursor: string): Promise<string>;
}

const sweepCount = 1000;

/** @param args.lease milliseconds that a session lasts without being renewed */
export function createLedger(args: { redis: RedisConnection; lease: number; key?: string }): Ledger {
  const { redis, lease, key = ledgerKey } = args;
  const run = (script: RedisScript, values: readonly (string | number)[]): Promise<unknown> =>
    redis.run(script, [key], values);

  return {
    async open(session) {
      const [began, epoch] = (await run(openScript, [session, lease])) as [number, string];
      return { began: began === 1, epoch };
    },
    async openEarly(epoch) {
      await run(openEarlyScript, [epoch]);
    },
    async renew(sessions) {
      return ((await run(renewScript, [lease, ...sessions])) as number[]).map((goesOn) => goesOn === 1);
    },
    async end(sessions) {
      await run(endScript, sessions);
    },
    async reserve({ session, write, digests }) {
      const [kind, number = 0] = (await run(reserveScript, [session, write, digests.join('')])) as [
        ReserveAnswer['kind'],
        number?,
      ];
      if (kind === 'held') return { kind, digest: digests[number] as string };
      return kind === 'closed' ? { kind, wait: number } : { kind };
    },
    async release({ session, write, digests }) {
      await run(releaseScript, [session, write, digests.join('')]);
    },
    async free(digests) {
      const places = (await run(freeScript, [digests.join('')])) as number[];
      return places.map((place) => digests[place] as string);
    },
    async sweep(cursor) {
      return (await run(sweepScript, [cursor, sweepCount])) as string;
    },
  };
}

/** A key as the ledger knows it: short, and nothing of the value can be read in Redis. 144 bits of SHA-256. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64').slice(0, digestLength);
}
