import t from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createFileLinks } from '#gateway/links/file-links.ts';
import { linkOperation } from '#gateway/operations/link.ts';
import { fakeRequest } from '../services/fake-request.ts';

const name = '0b8f0a52-5a0e-4d53-9d6c-0f4d0d8d9f11_a.txt';
const file = { name, projectSlug: 'demo', ownerId: 'owner' } as CloudFile;
const links = createFileLinks(createConfiguredKeys('a secret of a test, long enough for it'));

const ask = async (body: string, { userId = 'owner', project = 'demo' } = {}) =>
  linkOperation({
    authenticate: async () => ({ userId, tokenId: 't' }),
    cloudFiles: {
      findAny: async (wanted) => (wanted === name ? file : null),
      ownerOfFolder: async () => null,
      list: async () => [],
    },
    filesUrl: (project) => `https://files.test/_f_/${project}`,
    links,
    downloadUrl: ({ name }) => `https://files.test/_f_/demo/${name}`,
  })(fakeRequest({ method: 'POST', params: { project, name }, chunks: [Buffer.from(body)] }));

t.test('the link opens its file until it expires', async (t) => {
  const before = Date.now();
  const { status, body } = await ask('{"expiresIn":60}');
  const after = Date.now();
  t.equal(status, 200);
  const { link, expiresAt } = JSON.parse(body as string) as { link: string; expiresAt: string };
  const url = new URL(link);
  t.equal(url.origin + url.pathname, `https://files.test/_f_/demo/${name}`);
  const [expires, signature] = ['expires', 'signature'].map((key) => url.searchParams.get(key) ?? '');
  t.equal(Number(expires) * 1000, Date.parse(expiresAt));
  t.ok(Date.parse(expiresAt) >= before + 60_000 && Date.parse(expiresAt) <= after + 61_000);
  t.ok(await links.isGood(file, expires as string, signature as string));
});

t.test('only the owner gets one, and only for a while', async (t) => {
  await t.rejects(ask('{"expiresIn":60}', { userId: 'other' }), { code: 'not_found' });
  await t.rejects(ask('{"expiresIn":60}', { project: 'another' }), { code: 'not_found' });
  for (const body of [
    '',
    '[]',
    'null',
    '{}',
    '60',
    '{"expiresIn":"60"}',
    '{"expiresIn":0}',
    '{"expiresIn":-1}',
  ]) {
    await t.rejects(ask(body), { code: 'invalid_body' }, body);
  }
  for (const seconds of ['1.5', '604801', '1e999', 'true']) {
    await t.rejects(ask(`{"expiresIn":${seconds}}`), { code: 'invalid_body' }, seconds);
  }
  await t.rejects(ask(`{"expiresIn":60,"more":"${'x'.repeat(1024)}"}`), { code: 'payload_too_large' });
});
