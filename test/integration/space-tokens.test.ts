/** What a token for some record spaces does to the others of its account: nothing, and it does not learn that they are there. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { config: { allowClearAllSpaces: true } });
const all = ['find', 'insert', 'update', 'delete', 'structure', 'webhooks'];
const notGranted = (text: RegExp) => ({ status: 403, code: 'not_granted', problems: [text] });
/** Tokens for `orders`, with what they may do and without. */
const tokens = [{ spaces: ['orders'] }, { spaces: ['orders'], may: all }];
const as = (grants: object) => ({ 'test-grants': JSON.stringify(grants) });

for (const [project, slugs] of Object.entries({ shop: ['orders', 'people', 'goods'], vault: ['secrets'] }))
  for (const slug of slugs)
    await spaceOf(harness, project, slug, fieldsOf('name TEXT'), {
      webhooks: { onInsertUrl: `https://hooks.example.com/${slug}` },
    }).insert([{ name: slug }]);
const orders = spaceOf(harness, 'shop', 'orders', fieldsOf('name TEXT'));
const people = spaceOf(harness, 'shop', 'people', fieldsOf('name TEXT'));

t.test('a token for one space drops no project, whichever spaces it has', async (t) => {
  const drop = (path: string, grants: object) =>
    harness.call({ method: 'DELETE', path: `/_projects_/${path}`, headers: as(grants) });
  for (const grants of tokens) {
    for (const project of ['shop', 'vault', 'nowhere'])
      t.match(await drop(project, grants), notGranted(/structure for all record spaces/), project);
    t.match(await drop('shop', { ...grants, projects: ['shop'] }), notGranted(/for all record spaces/));
    t.match(await drop('shop/spaces/people', grants), notGranted(/in the record space people/));
  }
  t.match(await people.find(), { status: 200, body: [{ name: 'people' }] });
});

t.test('a token for one space clears no others by a header', async (t) => {
  for (const grants of tokens)
    t.match(
      await orders.insert([{ name: 'new' }], { ...as(grants), 'clear-all-spaces': 'true' }),
      notGranted(/delete for all record spaces/),
    );
  t.match(await people.find(), { status: 200, body: [{ name: 'people' }] });
  t.match(await orders.find(), { body: [{ name: 'orders' }] }, 'nor its own by the way');
});

t.test('a token for one space sees no other one in lists', async (t) => {
  const list = async (path: string, query: string, grants: object) =>
    harness.call({ path: `/_projects_${path}`, query, headers: as(grants) });
  for (const grants of tokens) {
    const { body } = await list('', '', grants);
    t.match(body, { projects: [{ slug: 'shop', spaces: 1 }], next: null });
    t.equal(body.projects.length, 1);
    const own = await list('/shop/spaces', '', grants);
    t.strictSame(
      own.body.spaces.map(({ slug }: { slug: string }) => slug),
      ['orders'],
    );
    t.strictSame((await list('/shop/spaces', 'search=people', grants)).body, { spaces: [], next: null });
    // the same as where there is no such project
    for (const project of ['vault', 'nowhere'])
      t.match(
        await list(`/${project}/spaces`, '', grants),
        { status: 404, code: 'project_not_found' },
        project,
      );
  }
  const two = { spaces: ['secrets', 'people', 'goods'], may: all };
  const first = await list('', 'limit=1', two);
  t.match(first.body, { projects: [{ slug: 'shop', spaces: 2 }], next: 'shop' });
  t.match((await list('', 'limit=1&after=shop', two)).body, {
    projects: [{ slug: 'vault', spaces: 1 }],
    next: null,
  });
  t.match((await list('/shop/spaces', 'limit=1', two)).body, { spaces: [{ slug: 'goods' }], next: 'goods' });
  t.match((await list('', '', { may: all })).body, {
    projects: [
      { slug: 'shop', spaces: 3 },
      { slug: 'vault', spaces: 1 },
    ],
  });
  t.match(
    await list('', '', { projects: ['shop'], spaces: ['orders'], may: all }),
    notGranted(/all projects/),
  );
});

t.test('a member of limited grants sees in the dashboard what they cover, and nothing else', async (t) => {
  const get = (path: string, grants: object, query = '') =>
    harness.call({ path: `/_projects_${path}`, query, headers: { ...as(grants), 'test-session': 'yes' } });
  const slugsOf = (list: { slug: string }[]) => list.map(({ slug }) => slug);
  const reader = { projects: ['shop', 'nowhere'], may: ['find', 'files:read'] };
  t.match((await get('', reader)).body, { projects: [{ slug: 'shop', spaces: 3 }], next: null });
  t.equal((await get('', reader)).body.projects.length, 1);
  t.strictSame(slugsOf((await get('/shop/spaces', reader)).body.spaces), ['goods', 'orders', 'people']);
  t.match(await get('/shop/spaces/orders', reader), {
    status: 200,
    body: { fields: [{ name: 'name' }], structure: { slug: 'orders', webhooks: undefined } },
  });
  t.match((await get('/shop/spaces/orders', { projects: ['shop'], may: ['structure'] })).body.structure, {
    webhooks: { onInsertUrl: /orders/ },
  });
  t.match(await get('/vault/spaces', reader), notGranted(/structure/));
  t.match(await get('/vault/spaces/secrets', reader), notGranted(/in the project vault/));
  const one = { projects: ['shop'], spaces: ['orders', 'secrets'], may: ['find'] };
  t.match((await get('', one)).body, { projects: [{ slug: 'shop', spaces: 1 }], next: null });
  t.equal((await get('', one, 'limit=1')).body.next, null, 'the other project is on no page');
  t.strictSame(slugsOf((await get('/shop/spaces', one)).body.spaces), ['orders']);
  t.match(await get('/shop/spaces/people', one), notGranted(/in the record space people/));
  const everything = { may: ['find'] };
  t.strictSame(slugsOf((await get('', everything)).body.projects), ['shop', 'vault']);
  for (const files of [{ may: ['files:read'] }, { may: ['files:read'], spaces: ['orders'] }]) {
    t.match((await get('', files)).body, { projects: [{ spaces: 0 }, { spaces: 0 }] });
    t.strictSame((await get('/shop/spaces', files)).body, { spaces: [], next: null });
    t.match(await get('/nowhere/spaces', files), { status: 404, code: 'project_not_found' });
    t.match(await get('/shop/spaces/orders', files), notGranted(/find/));
  }
  for (const path of ['/shop/spaces/orders/rules', '/shop/files/rules'])
    t.match(await get(path, reader), notGranted(/structure/), path);
  const byToken = await harness.call({ path: '/_projects_', headers: as(reader) });
  t.match(byToken, notGranted(/structure/), 'a token sees no more than before');
});

t.test('a token for one space sees no deliveries of another one, and sends none again', async (t) => {
  const deliveries = async (grants: object, query = '') =>
    (await harness.call({ path: '/_webhooks_/deliveries', query, headers: as(grants) })).body as {
      id: string;
      space: string;
    }[];
  const sendAgain = (id: string, grants: object) =>
    harness.call({ method: 'POST', path: `/_webhooks_/deliveries/${id}/send`, headers: as(grants) });
  const everything = await deliveries({ may: all });
  t.strictSame(
    new Set(everything.map(({ space }) => space)),
    new Set(['orders', 'people', 'goods', 'secrets']),
  );
  const own = { spaces: ['orders'], may: all };
  const seen = await deliveries(own, 'limit=1');
  t.strictSame(
    seen.map(({ space }) => space),
    ['orders'],
    'though others are newer',
  );
  for (const { id, space } of everything)
    t.equal((await sendAgain(id, own)).status, space === 'orders' ? 200 : 404, space);
});

t.test('a token for one space logs in users of that space alone', async (t) => {
  const fields = fieldsOf('email TEXT unique, password TEXT hashed');
  const ada = { email: 'a@example.com', password: 'secret' };
  for (const slug of ['users', 'admins']) await spaceOf(harness, 'shop', slug, fields).insert([ada]);
  const login = (slug: string, grants: object) =>
    harness.call({
      path: '/shop/function/login',
      body: ada,
      headers: {
        ...as(grants),
        'function-resources': JSON.stringify({
          mustExistSpaceStructures: [JSON.parse(spaceOf(harness, 'shop', slug, fields).structure)],
        }),
      },
    });
  for (const grants of [{ spaces: ['users'] }, { spaces: ['users'], may: all }]) {
    t.match(await login('users', grants), { status: 200 });
    t.match(await login('admins', grants), notGranted(/in the record space admins/));
  }
});

t.test('a token for one space tries its rules for no user of another one', async (t) => {
  const rules = { users: 'people', find: { name: '$user.name' } };
  const { body } = await people.find();
  const tried = (grants: object, user: string | null) =>
    harness.call({
      path: '/_projects_/shop/spaces/orders/rules/try',
      body: { operation: 'find', user, rules },
      headers: as(grants),
    });
  const { id } = body[0];
  t.match(
    await tried({ spaces: ['orders'], may: all }, id),
    notGranted(/structure in the record space people/),
  );
  t.equal((await tried({ spaces: ['orders'], may: all }, null)).status, 200);
  t.equal((await tried({ spaces: ['orders', 'people'], may: all }, id)).status, 200);
});
