import { developerEmail } from '#auth/execute-token-order.ts';
import type { Hasher } from '#auth/hasher.ts';
import type { TokenCheck } from '#auth/token-check.ts';
import type { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import type { Account, Users } from '#catalogue/users.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { registrationRefused } from '#kernel/errors/catalogue.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import type { Credentials } from './credentials.ts';

/** Whether people may register at the moment. */
export interface RegistrationState {
  readonly canRegister: boolean;
  /** The account of the first start can still be claimed with its access token. */
  readonly canClaim: boolean;
}

export type NewAccount = Credentials & { readonly name: string };

/** How long an answer of the store is reused, so that many visitors cost one read. Milliseconds. */
const readInterval = 1000;
/** Ids of the row that reserves the first account, where only one may register. */
const firstId = (generation: number): string =>
  generation === 0 ? uuidV5('first account') : uuidV5('first account', String(generation));

/** Reveals nothing about addresses: it is the same for a token of another account. */
const notTheFirst =
  'This is not an access token of the first account. Its first start printed one, and `npm run -s token` makes another';

interface RegistrationDeps {
  readonly users: Users;
  readonly hasher: Hasher;
  readonly tokenCheck: Pick<TokenCheck, 'check'>;
  readonly closed: Pick<ClosedAccounts, 'unusedId'>;
  readonly mode: Config['registration'];
}

/**
 * Makes accounts. Several requests and processes may do so at once: the store accepts one row for each id and version,
 * and ids are derived from e-mail addresses (common/catalogue/users.ts). Refusals of an address are alike, so that none
 * reveals whether it is taken.
 */
export class Registration {
  readonly #deps: RegistrationDeps;
  #lastRead: { readonly state: Promise<RegistrationState>; readonly began: number } | null = null;

  constructor(deps: RegistrationDeps) {
    this.#deps = deps;
  }

  /** At most a second old. */
  state(): Promise<RegistrationState> {
    const now = performance.now();
    if (this.#lastRead === null || now - this.#lastRead.began > readInterval) {
      const read = { state: this.#read(), began: now };
      read.state.catch(() => {
        if (this.#lastRead === read) this.#lastRead = null;
      });
      this.#lastRead = read;
    }
    return this.#lastRead.state;
  }

  /**
   * @param sender the client, for fair shares of the hasher
   * @param isInvited an invitation to this address was shown, so that REGISTRATION does not matter
   */
  async register(
    account: NewAccount,
    { sender, isInvited }: { readonly sender: string; readonly isInvited: boolean },
    signal: AbortSignal,
  ): Promise<Account> {
    if (!isInvited && !(await this.#mayRegister())) throw registrationRefused();
    const row = await this.#rowOf(account, sender, signal);
    await this.#refuseTaken(account.email);
    const isFirst = !isInvited && this.#deps.mode === 'first';
    if (isFirst && !(await this.#reserve(await this.#firstId(), row.id))) throw registrationRefused();
    // from here on it completes even if the client disconnects
    return this.#store(row);
  }

  /** Gives the account of the first start an e-mail address and a password, once. It keeps its data. */
  async claim(
    account: NewAccount,
    claimToken: string,
    sender: string,
    signal: AbortSignal,
  ): Promise<Account> {
    const token = await this.#deps.tokenCheck.check(claimToken, signal);
    // a token with grants may do less than the account, and a publishable one is in a web page
    if (typeof token === 'string' || token.ofSession || token.grants !== undefined)
      throw registrationRefused(notTheFirst);
    const claimed = await this.#deps.users.findById(token.userId, signal);
    if (claimed === null || claimed.email !== developerEmail) throw registrationRefused(notTheFirst);
    const { email, name, passwordHash, id } = await this.#rowOf(account, sender, signal);
    await this.#refuseTaken(email);
    // meanwhile nobody can register with the address, or as the first account
    if (!(await this.#reserve(id, claimed.id))) throw registrationRefused();
    await this.#reserve(await this.#firstId(), claimed.id);
    return this.#store({ ...claimed, email, name, passwordHash, version: claimed.version + 1 });
  }

  /** Reserves an address for an account that has another one. False: it is taken. */
  async reserveAddress(email: string, account: Account): Promise<boolean> {
    const taken = email === developerEmail || (await this.#deps.users.findByEmail(email)) !== null;
    const id = await this.#deps.users.idOf(email);
    // the address with which the account was made stays its own
    return !taken && (id === account.id || (await this.#reserve(id, account.id)));
  }

  #firstId(): Promise<string> {
    return this.#deps.closed.unusedId(firstId);
  }

  async #refuseTaken(email: string): Promise<void> {
    const taken = email === developerEmail || (await this.#deps.users.findByEmail(email)) !== null;
    if (taken) throw registrationRefused();
  }

  async #store(row: Account): Promise<Account> {
    if (!(await this.#deps.users.store(row))) throw registrationRefused();
    this.#lastRead = null;
    return row;
  }

  async #mayRegister(): Promise<boolean> {
    if (this.#deps.mode !== 'first') return this.#deps.mode === 'open';
    return !(await this.#deps.users.anyBeside(developerEmail));
  }

  async #read(): Promise<RegistrationState> {
    const [canRegister, developer] = await Promise.all([
      this.#mayRegister(),
      this.#deps.users.findByEmail(developerEmail),
    ]);
    return { canRegister, canClaim: developer !== null };
  }

  async #rowOf({ email, password, name }: NewAccount, sender: string, signal: AbortSignal): Promise<Account> {
    const [passwordHash] = await this.#deps.hasher.hashValues([password], signal, sender);
    return {
      id: await this.#deps.users.idOf(email),
      email,
      name,
      passwordHash: passwordHash as string,
      createdAt: new Date(),
      version: 0,
    };
  }

  /** Reserves an id for an account. False: another account has it. */
  async #reserve(id: string, holder: string): Promise<boolean> {
    const row = { id, email: '', name: holder, passwordHash: '', createdAt: new Date(), version: 0 };
    if (await this.#deps.users.store(row)) return true;
    // an interrupted attempt may have reserved it
    const reserved = await this.#deps.users.findById(id);
    return reserved?.email === '' && reserved.name === holder;
  }
}
