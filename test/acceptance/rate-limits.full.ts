import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

const notes = structureOf('p', 'notes', fieldsOf('text TEXT'));

/** As a trusted proxy forwards it. */
const from = (address: string) => ({ 'x-forwarded-proto': 'https', 'x-forwarded-for': address });

t.test('a token and an address send so many requests, and get a 429 for more', async (t) => {
  const sluice = await sluiceFor(t, {
    // nothing comes back while the test runs
    env: {
      TOKEN_RATE: '1',
      TOKEN_BURST: '5',
      ADDRESS_RATE: '1',
      ADDRESS_BURST: '30',
      TRUSTED_PROXIES: '127.0.0.1',
    },
  });
  const find = (token: string, address: string) =>
    call({ ...sluice, token, path: '/p/notes', structure: notes, headers: from(address) });

  const own = await Promise.all(Array.from({ length: 20 }, (_, i) => find(sluice.token, `192.0.2.${i}`)));
  const refused = own.filter(({ status }) => status === 429);
  t.ok(refused.length >= 10 && refused.length <= 15, `${refused.length} of 20 were refused`);
  t.match(refused[0]?.body, { code: 'rate_limited', statusCode: 429 });
  t.match(refused[0]?.headers.get('retry-after'), /^\d+$/);
  t.ok(own.every(({ status }) => status === 429 || status === 200));

  const { stdout } = await runToEnd('cli/token.ts', [], { DATA_DIR: sluice.dataDir });
  t.equal((await find(stdout.trim(), '192.0.2.1')).status, 200, 'another token of the account');

  // an IPv6 network is one sender, also for who has no good token
  const guesses = Array.from({ length: 60 }, (_, i) => find('made-up', `2001:db8::${i.toString(16)}`));
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  const unauthorized = statuses.filter((status) => status === 401).length;
  t.ok(unauthorized >= 30 && unauthorized < 45, `${unauthorized} of 60 were looked at`);
  t.ok(statuses.every((status) => status === 401 || status === 429));
  t.equal((await find('made-up', '2001:db8:0:1::1')).status, 401, 'the next network');
  for (let i = 0; i < 50; i++) {
    const health = await fetch(`${sluice.baseUrl}/healthz`, { headers: from('2001:db8::1') });
    t.equal(health.status, 200, 'probes are not limited');
  }
  t.equal(await sluice.stop(), 0);
});

t.test('quotas of stored files and bytes', async (t) => {
  const sluice = await sluiceFor(t, { env: { MAX_STORED_FILES: '3', MAX_STORED_BYTES: '1000' } });
  const upload = async (server: typeof sluice, bytes: number) => {
    const body = new FormData();
    body.set('file', new File([Buffer.alloc(bytes)], 'a.bin'));
    const headers = { authorization: `Bearer ${server.token}` };
    const answer = await fetch(`${server.baseUrl}/_f_/p/upload`, { method: 'POST', headers, body });
    return { status: answer.status, body: (await answer.json()) as { code?: string } };
  };
  const refused = { status: 403, body: { code: 'quota_exceeded' } };
  t.equal((await upload(sluice, 600)).status, 200);
  t.match(await upload(sluice, 401), refused);
  t.match(await upload(sluice, 3_000_000), refused, 'a large one is refused by its declared length');
  t.equal((await upload(sluice, 400)).status, 200);
  t.match(await upload(sluice, 1), refused);
  t.equal(await sluice.stop(), 0);

  const again = await sluice.restart({ MAX_STORED_BYTES: '0' });
  const statuses = await Promise.all(Array.from({ length: 10 }, () => upload(again, 1)));
  t.equal(statuses.filter(({ status }) => status === 200).length, 1, 'the third file, of ten at once');
  t.equal(await again.stop(), 0);
});
