/** Proofs of a login at the provider end after five minutes, and belong to one session. */
import t from 'tap';
import { SealedTexts } from '#auth/sealed-texts.ts';
import { LoginProofs, proofLifetime } from '#console/sessions/login-proofs.ts';
import { createHostCookie } from '#server/http/host-cookie.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

t.test('a proof', async (t) => {
  let now = 1_000_000;
  const sealed = new SealedTexts(async () => Buffer.alloc(32, 1));
  const cookie = createHostCookie({ name: 'proof', lifetime: proofLifetime, tls: false });
  const proofs = new LoginProofs({ sealed, cookie, now: () => now });
  const requestWith = (value: string) =>
    ({ header: (name: string) => (name === 'cookie' ? value : undefined) }) as HttpRequest;
  const sessionOf = (hash: string) => ({ session: { hash } }) as Parameters<LoginProofs['has']>[1];
  const [line = ''] = (await proofs.make(requestWith(''), sessionOf('one'))).split(';');
  t.equal(await proofs.has(requestWith(line), sessionOf('one')), true);
  t.equal(await proofs.has(requestWith(line), sessionOf('two')), false);
  t.equal(await proofs.has(requestWith(`${line}x`), sessionOf('one')), false);
  t.equal(await proofs.has(requestWith(''), sessionOf('one')), false);
  now += proofLifetime;
  t.equal(await proofs.has(requestWith(line), sessionOf('one')), true);
  now += 1;
  t.equal(await proofs.has(requestWith(line), sessionOf('one')), false);
});
