/** What the client does when the service, or something in between, fails. */
import t, { type Test } from 'tap';
import { backOff } from '#client/client.ts';
import {
  type Client,
  connect,
  count,
  find,
  inc,
  insert,
  number,
  SluiceError,
  space,
  text,
  update,
  upsert,
} from '#client/index.ts';
import { lastingPort } from '../services/lasting-port.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { type Answer, answer, cut, half, page, refuse, scriptedServer } from './scripted-server.ts';

const orders = space('orders', { city: text(), amount: number(), email: text({ unique: true }) });
const soon = { 'retry-after': '0' };

async function against(t: Test, answers: readonly Answer[], options: Partial<Client> = {}) {
  const server = await scriptedServer(t, answers);
  return { ...server, db: connect({ url: server.url, token: 't', project: 'shop', ...options }) };
}

async function error(work: PromiseLike<unknown>): Promise<SluiceError> {
  return (await rejectionOf(Promise.resolve(work))) as unknown as SluiceError;
}

t.test('Retry-After is the least wait, and others follow in twice the time of the last', async (t) => {
  const client = connect({ url: 'http://127.0.0.1', token: 't', project: 'shop', retries: 9 });
  const refused = new SluiceError({ code: 'overloaded', status: 503, message: 'busy', retryAfter: 1000 });
  const waits: number[] = [];
  for (const attempt of [0, 5]) {
    const wait = backOff(client, refused, attempt, AbortSignal.abort(), (_failure, _attempt, milliseconds) =>
      waits.push(milliseconds),
    );
    await t.rejects(wait);
  }
  const [first = 0, sixth = 0] = waits;
  t.ok(first >= 1000 && first <= 1500, `${first} ms`);
  t.ok(sixth >= 8000 && sixth <= 12_000, `${sixth} ms`);
});

t.test('a read is tried again after 429, 503 and a cut connection', async (t) => {
  for (const failure of [refuse(503, 'overloaded', soon), refuse(429, 'rate_limited', soon), cut, half]) {
    const { db, heard } = await against(t, [failure, answer(200, [{ id: 'a' }])]);
    t.strictSame(await find(db, orders), [{ id: 'a' }]);
    t.equal(heard.length, 2);
  }
});

t.test('it waits as long as the service says', async (t) => {
  const { db } = await against(t, [
    refuse(503, 'overloaded', { 'retry-after': '1' }),
    answer(200, [{ n: 4 }]),
  ]);
  const began = performance.now();
  t.equal(await count(db, orders), 4);
  t.ok(performance.now() - began >= 990);
});

t.test('it gives up at last', async (t) => {
  const { db, heard } = await against(t, [refuse(503, 'overloaded', soon)], { retries: 2 });
  t.match(await error(find(db, orders)), { code: 'overloaded', status: 503, retryAfter: undefined });
  t.equal(heard.length, 3);
});

t.test('an insert is sent again under its key, and an upsert too', async (t) => {
  const { db, heard } = await against(t, [cut, half, answer(200, { id: 'a' })]);
  t.strictSame(await insert(db, orders, { city: 'Paris' }), { id: 'a' } as never);
  const keys = heard.map(({ headers }) => headers['idempotency-key']);
  t.match(keys[0], /^\d+(-\d+){3}$/);
  t.strictSame(keys, [keys[0], keys[0], keys[0]]);
  t.equal(heard[2]?.body, '{"city":"Paris"}');
  await insert(db, orders, { city: 'Paris' }, { key: 'mine' });
  t.equal(heard.at(-1)?.headers['idempotency-key'], 'mine');

  const other = await against(t, [cut, answer(200, { id: 'a' })]);
  await upsert(other.db, orders, { email: 'é' }, { on: 'email', do: 'skip' });
  t.equal(other.heard.length, 2);
  t.equal(other.heard[1]?.headers.options, '{"onConflict":{"field":"email","do":"skip"}}');
});

t.test('a change is sent once', async (t) => {
  const { db, heard } = await against(t, [cut, refuse(503, 'deadline_exceeded', soon)]);
  t.match(await error(update(db, orders, 'a', { amount: 1 })), { code: 'no_answer', status: 0 });
  t.match(await error(inc(db, orders, 'a', { amount: 1 })), { code: 'deadline_exceeded' });
  t.equal(heard.length, 2);
});

t.test('what is not the service is told from it', async (t) => {
  const portal = await against(t, [page(200)]);
  const wanted = { code: 'not_sluice', name: 'SluiceError' };
  t.match(await error(find(portal.db, orders)), { ...wanted, status: 200 });
  t.equal(portal.heard.length, 1);
  const proxy = await against(t, [page(502)], { retries: 1 });
  t.match(await error(find(proxy.db, orders)), { ...wanted, status: 502 });
  t.equal(proxy.heard.length, 2);
  const mended = await against(t, [page(502), answer(200, [])]);
  t.strictSame(await find(mended.db, orders), []);
  const site = await against(t, [page(404)]);
  t.match(await error(find(site.db, orders)), { ...wanted, status: 404, message: /is the address right/ });
  t.equal(site.heard.length, 1);
});

t.test('nobody listens at a wrong address', async (t) => {
  const db = connect({
    url: `http://127.0.0.1:${await lastingPort()}`,
    token: 't',
    project: 'shop',
    retries: 1,
  });
  const failure = await error(find(db, orders));
  t.match(failure, { code: 'no_answer', status: 0, message: `No answer from ${db.url}` });
  t.ok(failure instanceof SluiceError && failure.cause instanceof Error);
});

t.test('an abort ends a request, its body and the wait before the next', async (t) => {
  const silent: Answer = () => {};
  const slow: Answer = (response) => void response.writeHead(200).write('[');
  for (const failure of [silent, slow, refuse(503, 'overloaded', { 'retry-after': '100' })]) {
    const { db, heard } = await against(t, [failure]);
    const reason = new Error('enough');
    const controller = new AbortController();
    const work = find(db, orders, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 200);
    t.equal(await error(work), reason);
    t.equal(heard.length, 1);
    t.equal(await error(insert(db, orders, {}, { signal: controller.signal })), reason);
    t.equal(heard.length, 1, 'and nothing is sent any more');
  }
});

t.test('the structure is said in ASCII, once for a project', async (t) => {
  const { db, heard } = await against(t, [answer(200, [])]);
  const own = space('日本', { 'naïve “field”': text({ required: true, unique: true }), n: number() });
  await find(db, own, { where: { n: 1 }, sort: ['-n'], limit: 5, select: ['n'] });
  await find({ ...db, project: 'other' }, own);
  const [first, other] = heard;
  t.equal(first?.method, 'POST');
  t.equal(first?.url, '/shop/%E6%97%A5%E6%9C%AC/_find_');
  t.match(first?.headers.structure, /^[ -~]+$/);
  t.strictSame(JSON.parse(String(first?.headers.structure)), {
    slug: '日本',
    projectSlug: 'shop',
    recordStructure: [
      { name: 'naïve “field”', slug: 'naïve “field”', type: 'TEXT', required: true, unique: true },
      { name: 'n', slug: 'n', type: 'NUMBER' },
    ],
  });
  t.strictSame(JSON.parse(first?.body ?? ''), { n: 1, $sort: ['-n'], $limit: 5, $select: ['n'] });
  t.match(other?.headers.structure, /"projectSlug":"other"/);
  t.equal(other?.body, '{}');
});

t.test('a token may be asked for, and a user is named', async (t) => {
  const { db, heard } = await against(t, [answer(200, [])], {
    token: async () => 'fresh',
    user: 'login token',
    asUser: true,
  });
  await find(db, orders);
  t.match(heard[0]?.headers, {
    authorization: 'Bearer fresh',
    token: 'login token',
    'sluice-act-as-user': 'true',
  });
});

t.test('nothing is asked for before it is wanted', async (t) => {
  const { db, heard } = await against(t, [answer(200, [])]);
  const list = find(db, orders);
  t.equal(heard.length, 0);
  await list;
  await list;
  t.equal(heard.length, 2);
});
