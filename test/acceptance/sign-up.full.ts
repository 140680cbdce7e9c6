/** Sign-up with the client and a real process, which is killed before it has sent what it promised. */
import t from 'tap';
import {
  boolean,
  connect,
  login,
  resetPassword,
  setStructure,
  signUp,
  space,
  text,
  verifyEmail,
} from '#client/index.ts';
import { startMailServer } from '../services/mail-server.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { sluiceFor } from '../services/start-sluice.ts';

t.setTimeout(120_000);
const users = space('users', {
  email: text({ unique: true, required: true, normalize: ['trim', 'lower'] }),
  password: text({ hashed: true, required: true }),
  verified: boolean(),
});
const ada = { email: 'ada@example.com', password: 'correct horse' };

t.test('a promised mail survives kill -9, and nothing of it is logged', async (t) => {
  const server = await startMailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth({ password }, _session, callback) {
      callback(null, password === 'smtp-secret' ? { user: 'wall' } : undefined);
    },
  });
  t.teardown(() => server.close());
  const env = {
    SMTP_URL: `smtp://wall:smtp-secret@127.0.0.1:${server.port}`,
    MAIL_FROM: 'Photo wall <wall@example.com>',
    LOG_LEVEL: 'debug',
  };
  let sluice = await sluiceFor(t, { env });
  const owner = connect({ url: sluice.baseUrl, token: sluice.token, project: 'wall' });
  await setStructure(owner, users);
  const rules = {
    find: { id: '$user.id' },
    insert: true,
    signUp: { verified: 'verified', pages: { verifyEmail: 'https://wall.example.com/verify' } },
  };
  const set = await fetch(`${sluice.baseUrl}/_projects_/wall/spaces/users/rules`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${sluice.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(rules),
  });
  t.equal(set.status, 200);
  const page = () => connect({ url: sluice.baseUrl, token: sluice.token, project: 'wall', asUser: true });

  server.replies.push('nothing');
  t.equal(await signUp(page(), users, ada), null);
  await server.askedFor(1);
  const written = [sluice.stdout(), sluice.stderr()];
  await sluice.kill();
  sluice = await sluice.restart();
  const mail = await server.mail(0);
  t.strictSame(mail.to, [ada.email]);

  const refused = await rejectionOf(login(page(), users, ada));
  t.match(refused, { status: 403, code: 'not_verified' });
  await verifyEmail(page(), users, { token: mail.token });
  t.match(await login(page(), users, ada), { user: { email: ada.email, verified: true } });

  await resetPassword(page(), users, { email: ' Ada@Example.com' });
  const reset = await server.mail(1);
  t.equal(reset.token, '', 'there is no page for it');
  await resetPassword(page(), users, { email: ada.email, code: reset.code, password: 'new' });
  t.match(await rejectionOf(login(page(), users, ada)), { status: 401 });
  t.match(await login(page(), users, { ...ada, password: 'new' }), { user: { email: ada.email } });
  const again = resetPassword(page(), users, { email: ada.email, code: reset.code, password: 'x' });
  t.match(await rejectionOf(again), { status: 403, code: 'link_refused' });

  const logged = [...written, sluice.stdout(), sluice.stderr()].join('\n');
  for (const secret of ['smtp-secret', 'correct horse', mail.token, mail.code, reset.code])
    t.notOk(logged.includes(secret), secret);
});
