import { hashToken } from '#auth/access-tokens.ts';
import { isOfKind, isSealed, sealedToken } from '#auth/sealed-token.ts';
import type { AccountLinks } from '#catalogue/account-links.ts';
import type { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import type { Deployment } from '#catalogue/deployment.ts';
import type { Account, Users } from '#catalogue/users.ts';
import { emailRefused, linkRefused, rateLimited } from '#kernel/errors/catalogue.ts';
import type { SendNotice } from './notices.ts';
import type { Registration } from './registration.ts';

/** Milliseconds. */
const linkLifetime = 15 * 60_000;
/** Between two mails to new addresses of one account. */
const sendEvery = 60_000;
const removalLimit = 30_000;

interface AddressChangesDeps {
  readonly users: Users;
  readonly links: AccountLinks;
  readonly closed: Pick<ClosedAccounts, 'giveBack'>;
  readonly registration: Pick<Registration, 'reserveAddress'>;
  readonly deployment: Pick<Deployment, 'secret'>;
  /** Undefined: there is no mailer, and addresses are not confirmed. */
  readonly send: SendNotice | undefined;
  readonly linkOf: (token: string) => string;
  readonly now?: () => Date;
}

/**
 * Changes of the e-mail address of an account. With a mailer, the new address gets a link, and the answer is the same
 * whether the address is taken. Without one the change takes effect at once, or is refused.
 */
export class AddressChanges {
  readonly #deps: AddressChangesDeps;
  readonly #now: () => Date;

  constructor(deps: AddressChangesDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  /** The account with its new address; null: the address can't be used. Throws 429 after too many mails. */
  async begin(
    account: Account,
    email: string,
    signal: AbortSignal,
  ): Promise<Account | 'to be confirmed' | null> {
    const { send } = this.#deps;
    if (send === undefined) return this.#change(account, email, signal);
    // the work is the same whether the address is taken: whoever confirms it finds out
    const token = sealedToken(this.#deps.deployment.secret, 'link');
    const expiresAt = new Date(this.#now().getTime() + linkLifetime);
    const { links, linkOf } = this.#deps;
    for (const earlier of await links.open('email', account.id, this.#now(), signal)) {
      const wait = earlier.createdAt.getTime() + sendEvery - this.#now().getTime();
      if (wait > 0) throw rateLimited(wait);
      await links.end(earlier, 'withdrawn');
    }
    const terms = { kind: 'email', accountId: account.id, email, madeBy: account.id, expiresAt } as const;
    await links.create({ ...terms, hash: hashToken(token), grants: undefined, manages: false });
    await send({ kind: 'email', to: email, link: linkOf(token), expiresAt, account: account.email });
    return 'to be confirmed';
  }

  /** Ends the open links of an account: whoever began a change may know the password no longer. */
  async withdraw(account: Account, signal: AbortSignal): Promise<void> {
    const { links } = this.#deps;
    for (const link of await links.open('email', account.id, this.#now(), signal))
      await links.end(link, 'withdrawn');
  }

  /** Throws 403 unless the token is an open one, and the address is still free. */
  async confirm(token: string, signal: AbortSignal): Promise<Account> {
    const { links, users, deployment } = this.#deps;
    const isGenuine = isOfKind(token, 'link') && isSealed(token, deployment.secret);
    const link = isGenuine ? await links.findByHash(hashToken(token), signal) : null;
    if (link === null || link.kind !== 'email' || link.state !== 'open' || link.expiresAt <= this.#now())
      throw linkRefused();
    const account = await users.findById(link.accountId, signal);
    if (account === null || !(await links.end(link, 'used', account.id))) throw linkRefused();
    const changed = await this.#change(account, link.email, signal);
    if (changed === null) throw emailRefused();
    return changed;
  }

  /** A new version of the account: all of its sessions end. Null: the address can't be used. */
  async #change(account: Account, email: string, signal: AbortSignal): Promise<Account | null> {
    const { users, registration } = this.#deps;
    if (email === account.email || !(await registration.reserveAddress(email, account))) return null;
    const changed = { ...account, email, version: account.version + 1 };
    if (!(await users.store(changed))) {
      await this.#giveBack(account, email, signal);
      return null;
    }
    await this.#giveBack(account, account.email, signal);
    return changed;
  }

  /** Frees an address that the account does not have. The one with which it was made stays its own. */
  async #giveBack(account: Account, email: string, signal: AbortSignal): Promise<void> {
    const { users, closed } = this.#deps;
    const now = await users.findById(account.id, signal);
    const id = await users.idOf(email);
    if (now?.email === email || id === account.id) return;
    const reserved = await users.reservedFor(account.id, signal);
    if (!reserved.includes(id)) return;
    await closed.giveBack(id);
    await users.remove([id], AbortSignal.timeout(removalLimit));
  }
}
