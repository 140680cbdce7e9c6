/** `npm run -s sluice -- sql-views` beside a running server, and without one. */
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);
const run = (...args: string[]) => runToEnd('cli/sql-views.ts', args, { DATA_DIR: sluice.dataDir });

t.test('the running server makes the views, and the command alone does', async (t) => {
  const { baseUrl, token } = sluice;
  t.match(await run(), { status: 1, stderr: /there is no such record space/ });
  const structure = structureOf('shop', 'orders', fieldsOf('total NUMBER'));
  await call({ baseUrl, token, path: '/shop/orders', structure, body: [{ total: 1 }] });
  const line = /^sluice_views\.shop_orders_[0-9a-f]{12} {2}developer@localhost shop\/orders\n$/;
  const beside = await run('--project', 'shop');
  t.match(beside, { status: 0, stdout: line });
  t.match(await run('--user', 'nobody@localhost'), { status: 1, stdout: '' });
  await sluice.stop();
  t.strictSame(await run('--user', 'developer@localhost'), beside);
});

t.test('help, and what is not known', async (t) => {
  t.match(await run('--help'), { status: 0, stdout: /sql-views(?:\.js)? \[--user EMAIL\]/ });
  t.match(await run('--nonsense'), { status: 1, stderr: /^sluice: Unknown option '--nonsense'/ });
});
