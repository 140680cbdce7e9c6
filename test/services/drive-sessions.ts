import { AccessTokens } from '#auth/access-tokens.ts';
import { SessionStore } from '#auth/session-store.ts';
import { AccountLinks } from '#catalogue/account-links.ts';
import { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { Members } from '#catalogue/members.ts';
import { Users } from '#catalogue/users.ts';
import { Sessions } from '#console/sessions/sessions.ts';
import type { Database } from '#engine/database.ts';
import { silentLog } from './silent-log.ts';

const { signal } = new AbortController();

/** Does everything once that emits statements about accounts, their sessions, and the tokens of those. */
export async function driveSessions(db: Database, database: string): Promise<void> {
  const users = new Users({ db, database });
  const deployment = await openDeployment({ db, database });
  const members = new Members({ db, database });
  const store = new SessionStore({ db, database, users, members });
  const sessions = new Sessions({ store, gate: { admits: async () => true }, deployment });
  const account = await users.create({ email: 'session@x', name: '' });
  if (!(await users.anyBeside('nobody@x'))) throw new Error('there is no account');
  const session = await sessions.start(account, { agent: '', address: '' });
  if ((await sessions.find(session.cookie, signal)) === null) throw new Error('the session is not found');
  await sessions.issueToken(session, signal);
  await store.findToken('unknown');
  await sessions.end(session);
  const tokens = new AccessTokens({ db, database, deployment });
  await tokens.create({ userId: account.id, name: 'n', expiresAt: null });
  await tokens.lastUses(await tokens.list(account.id));
  await driveMembers(db, database, account.id);
  await store.removeAll(account.id, signal);
  await tokens.madeBy(account.id);
  await tokens.removeAll(account.id, signal);
}

/** The same of members, links, and accounts that are closed. */
async function driveMembers(db: Database, database: string, accountId: string): Promise<void> {
  const members = new Members({ db, database });
  const now = new Date();
  const member = { accountId, userId: 'u', manages: true, invitation: 'i', hasLeft: false, createdAt: now };
  if (!(await members.store({ ...member, version: 0 }))) throw new Error('the member is not stored');
  await members.ofAccount(accountId, signal);
  await members.ofUser('u', signal);
  await members.removeAll(accountId, signal);
  const links = new AccountLinks({ db, database });
  const terms = { kind: 'invitation', accountId, email: 'a@b', madeBy: accountId, expiresAt: now } as const;
  const link = await links.create({ ...terms, hash: 'h', manages: false, grants: undefined });
  await links.findByHash('h', signal);
  await links.open('invitation', accountId, now, signal);
  if ((await links.madeSince('invitation', accountId, new Date(0), signal)) !== 1)
    throw new Error('the invitation is not counted');
  await links.end(link, 'withdrawn');
  await links.removeAll(accountId, signal);
  const closed = new ClosedAccounts({ db, database, log: silentLog(), singleWriter: true });
  await closed.start();
  await closed.giveBack('unused');
  const users = new Users({ db, database, closed });
  await users.idOf('session@x');
  await users.reservedFor(accountId, signal);
  await users.remove(['unused'], signal);
}
