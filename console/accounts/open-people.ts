import type { AccessTokens } from '#auth/access-tokens.ts';
import type { Hasher } from '#auth/hasher.ts';
import type { TokenCheck } from '#auth/token-check.ts';
import type { AccountLinks } from '#catalogue/account-links.ts';
import type { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import type { Deployment } from '#catalogue/deployment.ts';
import type { Members } from '#catalogue/members.ts';
import type { Users } from '#catalogue/users.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { AddressChanges } from './address-changes.ts';
import { Invitations } from './invitations.ts';
import { Memberships } from './memberships.ts';
import type { SendNotice } from './notices.ts';
import { Registration } from './registration.ts';

interface PeopleDeps {
  readonly users: Users;
  readonly members: Members;
  readonly accountLinks: AccountLinks;
  readonly closed: ClosedAccounts;
  readonly tokens: AccessTokens;
  readonly tokenCheck: TokenCheck;
  readonly deployment: Pick<Deployment, 'secret'>;
  readonly hasher: Hasher;
  readonly mode: Config['registration'];
  /** Undefined: there is no mailer, and the pages show the links. */
  readonly send: SendNotice | undefined;
  /** The address of a page of the dashboard. */
  readonly pageUrl: (path: string) => string;
  readonly now?: () => Date;
}

/** What makes and changes accounts and their members. */
export function openPeople(deps: PeopleDeps) {
  const { members, accountLinks: links, tokens, tokenCheck, pageUrl } = deps;
  const registration = new Registration(deps);
  return {
    registration,
    memberships: new Memberships({ members, tokens, tokenCheck }),
    // the token is in the fragment, which browsers send to nobody
    invitations: new Invitations({ ...deps, links, linkOf: (token) => pageUrl(`/invitation#${token}`) }),
    addressChanges: new AddressChanges({
      ...deps,
      links,
      registration,
      linkOf: (token) => pageUrl(`/confirm-email#${token}`),
    }),
  };
}
