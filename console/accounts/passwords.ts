import { randomBytes } from 'node:crypto';
import type { Hasher } from '#auth/hasher.ts';
import type { LoginThrottle } from '#auth/login-throttle.ts';
import type { Account, Users } from '#catalogue/users.ts';
import type { Credentials } from './credentials.ts';

/** The throttle's key of an account, shared by all operations that check its password, so that failures add up. */
function identityOf(email: string): string {
  return `console account\n${email}`;
}

interface PasswordsDeps {
  readonly users: Users;
  readonly hasher: Hasher;
  readonly throttle: LoginThrottle;
}

/**
 * Checks passwords, behind the throttle. The work is always the same: without an account, it verifies a dummy hash that
 * nothing matches. So neither the time nor the answer shows whether an account exists.
 */
export class Passwords {
  readonly #deps: PasswordsDeps;
  #dummy: Promise<string> | null = null;

  constructor(deps: PasswordsDeps) {
    this.#deps = deps;
  }

  /**
   * The account, or null. Rejects with 429 when it is too early for another attempt.
   * @param sender the client, for fair shares of the hasher
   */
  check({ email, password }: Credentials, sender: string, signal: AbortSignal): Promise<Account | null> {
    return this.#deps.throttle.run(
      identityOf(email),
      async () => {
        // made before the account is read, so that even the first attempt reveals nothing
        const dummy = await this.#dummyHash();
        const account = await this.#deps.users.findByEmail(email, signal);
        const stored = account?.passwordHash ?? '';
        const right = await this.#deps.hasher.verifyValue(stored || dummy, password, signal, sender);
        return right && stored !== '' ? account : null;
      },
      signal,
    );
  }

  /** Runs something that may be tried only so often. A result of null is a failure. Rejects with 429. */
  throttled<Result>(
    key: string,
    signal: AbortSignal,
    attempt: () => Promise<Result | null>,
  ): Promise<Result | null> {
    return this.#deps.throttle.run(`console\n${key}`, attempt, signal);
  }

  /** Changes the password of an account. Null: the account changed meanwhile, and nothing was stored. */
  async change(
    account: Account,
    password: string,
    sender: string,
    signal: AbortSignal,
  ): Promise<Account | null> {
    const [passwordHash = ''] = await this.#deps.hasher.hashValues([password], signal, sender);
    const changed = { ...account, passwordHash, version: account.version + 1 };
    return (await this.#deps.users.store(changed)) ? changed : null;
  }

  #dummyHash(): Promise<string> {
    this.#dummy ??= this.#deps.hasher
      .hashValues([randomBytes(32).toString('base64')], new AbortController().signal)
      .then(([hash]) => hash as string);
    this.#dummy.catch(() => {
      this.#dummy = null;
    });
    return this.#dummy;
  }
}
