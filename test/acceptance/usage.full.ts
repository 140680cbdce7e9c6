/** What accounts use is stored when a process stops. */
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

t.test('figures outlive a stop', { timeout: 120_000 }, async (t) => {
  const first = await startSluice();
  const { token } = first;
  const structure = structureOf('demo', 'people', fieldsOf('name TEXT'));
  const body = [{ name: 'Ada' }, { name: 'Grace' }];
  const { status } = await call({ ...first, path: '/demo/people', structure, body });
  t.equal(status, 200);
  const form = new FormData();
  form.set('file', new Blob(['hello']), 'a.txt');
  const headers = { authorization: `Bearer ${token}` };
  const upload = await fetch(`${first.baseUrl}/_f_/demo/upload`, { method: 'POST', headers, body: form });
  t.equal(upload.status, 200);
  await upload.arrayBuffer();
  t.equal(await first.stop(), 0);

  const again = await first.restart();
  t.teardown(async () => {
    await again.stop();
    await removeData(again);
  });
  t.match((await call({ baseUrl: again.baseUrl, token, path: '/_usage_' })).body, {
    days: [{ project: 'demo', requests: 2, files: 1, bytesStored: 5, recordsWritten: 2 }],
  });
});
