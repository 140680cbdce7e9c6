import type { KeyedHash } from '#auth/signing-keys.ts';
import { RequestLimiter } from '#coordination/rate-limits/request-limiter.ts';
import { createSharedLimiter, unsharedLimiter } from '#coordination/rate-limits/shared-limiter.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import type { Log } from '#kernel/log/log.ts';

const hour = 3600;
/** Mails to one address of a space: three at once, then one in five minutes. */
const ofAddress = { rate: 12 / hour, burst: 3, inFlight: 0 };
/** Requests of one sender in a page: enough for an office behind one address. */
const ofSender = { rate: 120 / hour, burst: 20, inFlight: 0 };

interface MailRequest {
  readonly ownerId: string;
  readonly spaceId: string;
  readonly address: string;
  /** Null: a server, which knows its users itself. */
  readonly sender: string | null;
}

/** Limits requests for mails, whether they lead to one or not. Processes that share Redis share the counts. */
export class MailLimits {
  readonly #keyOf: KeyedHash;
  readonly #sender: RequestLimiter;
  readonly #address: RequestLimiter;
  readonly #account: RequestLimiter;

  /** @param deps.perHour requests of one account @param deps.now milliseconds */
  constructor(deps: {
    readonly redis: RedisConnection | undefined;
    readonly log: Log;
    readonly keyOf: KeyedHash;
    readonly perHour: number;
    readonly now: () => number;
  }) {
    const { redis, log, keyOf, perHour, now } = deps;
    const open = (kind: string, limits: typeof ofAddress): RequestLimiter => {
      const shared =
        redis === undefined ? unsharedLimiter : createSharedLimiter({ redis, kind, limits, log });
      return new RequestLimiter({ limits, shared, now });
    };
    this.#keyOf = keyOf;
    this.#sender = open('mail-sender', ofSender);
    this.#address = open('mail-address', ofAddress);
    this.#account = open('mail-account', { rate: perHour / hour, burst: perHour, inFlight: 0 });
  }

  /** Counts a request, or throws 429. A refused sender takes nothing from the address and the account. */
  async admit({ ownerId, spaceId, address, sender }: MailRequest): Promise<void> {
    if (sender !== null) await this.#admit(this.#sender, `${ownerId} ${sender}`);
    await this.#admit(this.#address, `${spaceId} ${address.normalize('NFC').toLowerCase()}`);
    await this.#admit(this.#account, ownerId);
  }

  /** Addresses of users must not be readable in Redis. */
  async #admit(limiter: RequestLimiter, who: string): Promise<void> {
    const hash = await this.#keyOf(who);
    await limiter.admit(hash.subarray(0, 16).toString('base64url'), () => {});
  }
}
