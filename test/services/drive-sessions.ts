import { AccessTokens } from '#auth/access-tokens.ts';
import { SessionStore } from '#auth/session-store.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { Users } from '#catalogue/users.ts';
import { Sessions } from '#console/sessions/sessions.ts';
import type { Database } from '#engine/database.ts';

const { signal } = new AbortController();

/** Does everything once that emits statements about accounts, their sessions, and the tokens of those. */
export async function driveSessions(db: Database, database: string): Promise<void> {
  const users = new Users({ db, database });
  const deployment = await openDeployment({ db, database });
  const store = new SessionStore({ db, database, users });
  const sessions = new Sessions({ store, gate: { admits: async () => true }, deployment });
  const account = await users.create({ email: 'session@x', name: '' });
  if (!(await users.anyBeside('nobody@x'))) throw new Error('there is no account');
  const session = await sessions.start(account);
  if ((await sessions.find(session.cookie, signal)) === null) throw new Error('the session is not found');
  await sessions.issueToken(session, signal);
  await store.findToken('unknown');
  await sessions.end(session);
  const tokens = new AccessTokens({ db, database, deployment });
  await tokens.create({ userId: account.id, name: 'n', expiresAt: null });
  await tokens.lastUses(await tokens.list(account.id));
}
