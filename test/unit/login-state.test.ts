import t from 'tap';
import { hasEnded, newLogin, newLoginState, withEnded } from '#auth/login-state.ts';
import type { LoginOfToken } from '#auth/login-tokens.ts';

const now = 1_000_000;
const end = (state: string, login: LoginOfToken | undefined, at = now): string =>
  withEnded(state, login, { until: at + 100, now: at });

t.test('the end of a login', async (t) => {
  for (const before of ['', newLoginState()]) {
    const [one, other] = [newLogin(before, now), newLogin(before, now)];
    t.notSame(one.id, other.id);
    t.notOk(hasEnded(before, one));
    const after = end(before, one);
    t.strictSame([hasEnded(after, one), hasEnded(after, other)], [true, false]);
    const both = end(after, other);
    t.strictSame([hasEnded(both, one), hasEnded(both, other)], [true, true]);
    const next = newLoginState();
    t.strictSame([hasEnded(next, one), hasEnded(next, other)], [true, true]);
    t.notOk(hasEnded(both, newLogin(both, now)), 'a new login');
  }
});

t.test('an id that begins like another', async (t) => {
  const login = { ...newLogin('', now), id: 'ab' };
  const after = end('', login);
  t.strictSame(
    ['ab', 'a', 'abc', 'b', ''].map((id) => hasEnded(after, { ...login, id })),
    [true, false, false, false, false],
  );
});

t.test('tokens of earlier versions have no login', async (t) => {
  t.notOk(hasEnded('', undefined));
  t.notOk(hasEnded(end('', newLogin('', now)), undefined), 'one that has ended is another');
  t.ok(hasEnded(newLoginState(), undefined));
  t.ok(hasEnded(end('', undefined), undefined), 'its logout ends all');
});

t.test('what has expired is forgotten, and too many end all', async (t) => {
  let state = '';
  const logins = Array.from({ length: 40 }, () => newLogin('', now));
  for (const [place, login] of logins.entries()) state = end(state, login, now + 60 * place);
  t.ok(state.length < 200, state);
  t.ok(hasEnded(state, logins.at(-1)));
  for (const login of logins.slice(0, 32)) state = end(state, login, now + 4000);
  t.notOk(hasEnded(state, newLogin('', now)));
  t.ok(state.length < 1000, 'bounded');
  state = end(state, logins[33], now + 4000);
  for (const login of [...logins, newLogin('', now)]) t.ok(hasEnded(state, login));
});
