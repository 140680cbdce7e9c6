/** Rules of record spaces: what strangers, users and servers that act for users may find and change. */
import t from 'tap';
import { admitted, queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { full } from '../services/test-size.ts';

const harness = await queryHarnessFor(t, { freshness: { heardAfter: 0 }, config: { fileLinks: 'public' } });
const userFields = fieldsOf('name TEXT required unique, password TEXT hashed, role TEXT, email TEXT');
const noteFields = fieldsOf(
  'text TEXT, public BOOLEAN, owner TEXT, stars NUMBER, secret TEXT, code TEXT unique',
);
const users = spaceOf(harness, 'app', 'users', userFields);
const notes = spaceOf(harness, 'app', 'notes', noteFields);

const publishable = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };
/** Headers of a page, and of a user in it. */
const page = (token?: string) => ({ ...publishable, ...(token && { token }) });
const denied = (...problems: (string | RegExp)[]) => ({
  ...refusal('not_allowed', ...problems),
  status: 403,
});

const setRules = (space: string, rules: unknown) =>
  harness.call({ method: 'PUT', path: `/_projects_/app/spaces/${space}/rules`, body: rules });

const noteRules = {
  find: { $or: [{ public: true }, { owner: '$user.id' }] },
  insert: { owner: '$user.id' },
  update: { owner: '$user.id' },
  delete: { owner: '$user.id' },
  set: { owner: '$user.id' },
  readonly: ['stars'],
  hidden: ['secret'],
};

async function logIn(name: string, password: string): Promise<{ token: string; user: { id: string } }> {
  const structures = { mustExistSpaceStructures: [JSON.parse(users.structure)] };
  const { body } = await harness.call({
    path: '/app/function/login',
    headers: { ...publishable, 'function-resources': JSON.stringify(structures) },
    body: { name, password },
  });
  return body;
}

t.test('an app in a browser', async (t) => {
  await users.make();
  await notes.insert([{ text: 'theirs', public: true, owner: 'x', stars: 1, secret: 's', code: 'c0' }]);
  admitted.length = 0;
  t.match(await notes.find('', undefined, page()), denied(/nobody find/), 'nothing by default');
  t.equal(admitted.length, 1, 'a refused request counts once');
  const made = await setRules('users', {
    find: { id: '$user.id' },
    insert: true,
    update: { id: '$user.id' },
    readonly: ['role'],
    hidden: ['email'],
  });
  t.match(made, { status: 200, body: { warnings: [/Everybody can insert/] } });
  t.match(await setRules('notes', noteRules), {
    status: 200,
    body: {
      warnings: [],
      stranger: { find: { where: 'public = true' }, insert: 'none', update: 'none', delete: 'none' },
      user: { find: { where: '(public = true or owner = $user.id)' } },
    },
  });
  const signUp = (body: object) => harness.call({ path: '/app/users/_single_', headers: page(), body });
  const ada = await signUp({ name: 'ada', password: 'secret 1', email: 'ada@x.io' });
  t.match(ada, { status: 200, body: { name: 'ada', role: null } });
  t.notOk('email' in ada.body, 'hidden fields do not leave');
  t.match(await signUp({ name: 'eve', password: 'x', role: 'admin' }), denied(/'role' is readonly/));
  t.match(await signUp({ name: 'ada', password: 'x' }), refusal('not_unique'));
  await signUp({ name: 'bob', password: 'secret 2' });
  const a = await logIn('ada', 'secret 1');
  const b = await logIn('bob', 'secret 2');
  t.notOk('email' in a.user);
  const insert = (body: object, token?: string) =>
    harness.call({ path: '/app/notes/_single_', headers: page(token), body });
  t.match(
    await insert({ text: 'a1', public: false, code: 'a1' }),
    denied(/owner/),
    'strangers have no owner',
  );
  const a1 = await insert({ text: 'a1', public: false, owner: b.user.id, code: 'a1' }, a.token);
  t.match(a1, { status: 200, body: { owner: a.user.id } }, 'set always wins');
  t.match(await insert({ text: 'a2', stars: 5 }, a.token), denied(/'stars' is readonly/));
  const b1 = await insert({ text: 'b1', public: true, code: 'b1' }, b.token);
  t.match(await insert({ text: 'x', code: 'a1' }, b.token), refusal('not_unique', /^A record with this/));
  const texts = async (token?: string, query = '') => {
    const { body } = await notes.find(query, undefined, page(token));
    return body.map(({ text }: { text: string }) => text).sort();
  };
  t.strictSame(await texts(), ['b1', 'theirs']);
  t.strictSame(await texts(a.token), ['a1', 'b1', 'theirs']);
  t.strictSame(await texts(b.token), ['b1', 'theirs']);
  t.strictSame(await texts(a.token), ['a1', 'b1', 'theirs'], 'again, as kept');
  t.strictSame(await texts(b.token, 'text=a1'), []);
  t.match(
    await notes.find('secret=s', undefined, page()),
    refusal('invalid_condition', /not in the structure/),
  );
  const change = (id: string, body: object, token?: string) =>
    harness.call({ path: '/app/notes/update-by-id', query: [['id', id]], headers: page(token), body });
  t.match(await change(b1.body.id, { text: 'mine' }, a.token), refusal('no_match'));
  t.match(await change(a1.body.id, { owner: b.user.id }, a.token), denied(/would not meet/));
  t.match(await change(a1.body.id, { stars: { $inc: 1 } }, a.token), denied(/readonly/));
  t.match(await change(a1.body.id, { text: 'a1b', secret: 'hush' }, a.token), {
    status: 200,
    body: { text: 'a1b' },
  });
  const remove = (id: string, token?: string) =>
    harness.call({ method: 'DELETE', path: '/app/notes', query: [['id', id]], headers: page(token) });
  t.match(await remove(a1.body.id, b.token), refusal('no_match'));
  t.match(await remove(a1.body.id), refusal('no_match'), 'a stranger owns nothing');
  t.match(await remove(a1.body.id, a.token), { status: 200, body: { id: a1.body.id } });

  // a server that acts for a user
  const acting = { 'sluice-act-as-user': 'true', token: b.token };
  t.strictSame((await notes.find('', undefined, acting)).body.length, 2);
  t.match(await notes.find('', undefined, { ...acting, token: 'none' }), { status: 401 });
  t.strictSame((await notes.find()).body.length, 2, 'others are not bound');
  t.ok('secret' in (await notes.find()).body[0]);
  t.match(await users.clear(), { status: 200 });
  t.match(await notes.find('', undefined, page(b.token)), { status: 401 }, 'its user is gone');
});

t.test('rules that do not fit are refused, each problem in words', async (t) => {
  const refused = (rules: unknown, ...problems: RegExp[]) =>
    setRules('notes', rules).then((answer) =>
      t.match(answer, refusal('invalid_rules', ...problems), JSON.stringify(rules)),
    );
  await refused([], /JSON object/);
  await refused({ read: true }, /no 'read'/);
  await refused({ find: {} }, /true for all records/);
  await refused({ find: 'all' }, /true for all records/);
  await refused({ find: ['public'] }, /true for all records/);
  await refused({ find: [] }, /true for all records/);
  await refused({ find: { nobody: true } }, /'nobody' is not in the structure/);
  await refused({ find: { stars: 'many' } }, /valid number/);
  await refused({ find: { stars: '$user.id' } }, /valid number/);
  await refused({ find: { owner: '$user.nothing' } }, /not a field of the record space users/);
  await refused({ find: { owner: '$user.password' } }, /hashed/);
  await refused({ find: { owner: '$me' } }, /is not a variable/);
  await refused({ set: { owner: 5 } }, /valid string/);
  await refused({ set: { none: 5 } }, /not a field/);
  await refused({ hidden: ['none'] }, /not a field/);
  await refused({ readonly: 'owner' }, /array of fields/);
  await refused({ users: '..' }, /slug/);
  const deep = { $or: [{ $or: [{ $or: [{ $or: [{ $or: [{ $or: [{ public: true }] }] }] }] }] }] };
  await refused({ find: deep }, /deeper/);
});

/** Two users who have logged in, and rules by their ids. */
async function twoUsers() {
  await setRules('notes', noteRules);
  for (const name of ['ann', 'ben'])
    await users.insert([{ name, password: name, role: name === 'ann' ? 'red' : 'blue' }]);
  return [await logIn('ann', 'ann'), await logIn('ben', 'ben')] as const;
}

const as = (token: string | undefined, path: string, more: object = {}) =>
  harness.call({ path, headers: page(token), ...more });

t.test('ways to learn of what is hidden', async (t) => {
  const [ann, ben] = await twoUsers();
  await notes.clear();
  const note = (owner: { user: { id: string } }, text: string) => ({
    text,
    owner: owner.user.id,
    secret: `${text}!`,
    code: text,
  });
  await notes.insert([note(ann, 'a'), note(ben, 'b'), { ...note(ben, 'c'), public: true }]);
  const unknown = refusal('invalid_condition', /not in the structure|not a field/);
  const unknownOption = refusal('invalid_options', /not a field/);
  t.match(await as(ann.token, '/app/notes', { query: 'secret=x' }), unknown);
  t.match(
    await as(ann.token, '/app/notes', {
      query: [
        ['$or[0][secret]', 'a!'],
        ['$or[1][text]', 'a'],
      ],
    }),
    unknown,
  );
  t.match(await as(ann.token, '/app/notes', { query: '$sort=secret' }), unknownOption);
  t.match(await as(ann.token, '/app/notes', { query: '$select=secret' }), unknownOption);
  t.match(
    await as(ann.token, '/app/notes/search', { query: 'searchText=a&searchableFields=secret' }),
    unknown,
  );
  for (const body of [
    { groupBy: ['secret'], values: { n: 'count' } },
    { values: { most: { max: 'secret' } } },
    { where: { secret: 'a!' } },
  ])
    t.match(await as(ann.token, '/app/notes/_aggregate_', { body }), { status: 400 }, JSON.stringify(body));
  const populate = [
    { space: 'users', fields: { from: 'users', foreignKey: 'id', localKey: 'secret', newField: 'of' } },
  ];
  const withPopulate = (options: object, token = ann.token) =>
    harness.call({ path: '/app/notes', headers: { ...page(token), options: JSON.stringify(options) } });
  t.match(await withPopulate({ populate }), unknownOption);
  t.match(await as(ann.token, '/app/notes', { query: '$count=exact&$limit=1' }), { body: { length: 1 } });
  const { body: described } = await as(ann.token, '/app/notes/openapi.json');
  t.notMatch(JSON.stringify(described.paths['/app/notes'].get), /secret/, 'it is no condition');
  t.match(JSON.stringify(described.components.schemas.NewRecord), /secret/, 'and can be written');
  // a text that stands in a rule is none in a request
  t.match(await as(ann.token, '/app/notes', { query: 'owner=$user.id' }), { status: 200, body: [] });

  // populate, by the rules of the other space
  const owners = [
    { space: 'users', fields: { from: 'users', foreignKey: 'id', localKey: 'owner', newField: 'of' } },
  ];
  const { body: populated } = await withPopulate({ populate: owners });
  t.strictSame(
    populated.map(({ of }: { of: { name: string } | null }) => of?.name ?? null),
    ['ann', null],
  );
  t.notOk('email' in populated[0].of);
  await spaceOf(harness, 'app', 'plain', fieldsOf('name TEXT')).insert([{ name: 'x' }]);
  for (const space of ['plain', 'missing']) {
    const from = [{ space, fields: { from: space, foreignKey: 'name', localKey: 'text', newField: 'of' } }];
    t.match(await withPopulate({ populate: from }), denied(/nobody find/), space);
    t.match(await as(ann.token, `/app/${space}`), denied(/nobody find/), space);
    const bad = spaceOf(harness, 'app', space, fieldsOf('other NUMBER'));
    t.match(await bad.find('', undefined, page(ann.token)), denied(/nobody find/), 'with any structure');
  }
  t.match(await as(ann.token, '/nowhere/notes'), denied(/nobody find/));

  // a structure that says something else
  for (const other of ['text NUMBER', 'title/text TEXT', 'text TEXT hashed', 'text TEXT, more TEXT']) {
    const space = spaceOf(harness, 'app', 'notes', fieldsOf(other));
    t.match(await space.find('', undefined, page(ann.token)), { status: 403, code: 'not_granted' }, other);
  }
  t.match(
    await as(ann.token, '/app/users', { query: 'name=ben&password=ben' }),
    unknown,
    'hashes are not guessed',
  );

  // a structure that leaves out what rules fill in, or what is required
  await setRules('notes', { ...noteRules, insert: true });
  const part = spaceOf(harness, 'app', 'notes', fieldsOf('text TEXT'));
  const { body: partly } = await part.insertOne({ text: 'partly' }, page(ann.token));
  t.strictSame(Object.keys(partly), ['id', 'text', 'createdAt', 'updatedAt']);
  t.match((await notes.find(`id=${partly.id}`)).body, [{ owner: ann.user.id }]);
  t.match(await part.insertOne({ text: 'x', stars: 5 }, page(ann.token)), denied(/'stars' is readonly/));
  const nameless = spaceOf(harness, 'app', 'users', fieldsOf('role TEXT'));
  await setRules('users', { find: true, insert: true });
  t.match(await nameless.insertOne({ role: 'x' }, page()), refusal('invalid_value', /'name' is required/));
  await setRules('notes', noteRules);

  // keys of inserts are a user's own
  const keyed = (token: string) =>
    as(token, '/app/notes', {
      body: [{ text: 'keyed' }],
      headers: { ...page(token), 'idempotency-key': 'the same' },
    });
  const [first, other, again] = [await keyed(ann.token), await keyed(ben.token), await keyed(ann.token)];
  t.equal(first.body[0].id, again.body[0].id);
  t.not(first.body[0].id, other.body[0].id);
  t.equal(other.body[0].owner, ben.user.id);
});

t.test('changes of many, upserts and counters', async (t) => {
  const [ann, ben] = await twoUsers();
  await notes.clear();
  const given = ['a', 'b', 'c', 'd'].map((text, at) => ({
    text,
    code: text,
    owner: (at < 2 ? ann : ben).user.id,
  }));
  await notes.insert(given);
  const everything = { all: true };
  const owners = async () => (await notes.find()).body.map(({ owner }: { owner: string }) => owner);
  t.match(await as(ann.token, '/app/notes/_update_', { body: { ...everything, set: { text: 'x' } } }), {
    body: { updated: 2 },
  });
  t.strictSame((await notes.find('text=x')).body.length, 2);
  const give = { ...everything, set: { owner: ben.user.id } };
  t.match(await as(ann.token, '/app/notes/_update_', { body: give }), denied(/would not meet/));
  t.strictSame((await owners()).filter((id: string) => id === ann.user.id).length, 2, 'none was given away');
  t.match(await as(undefined, '/app/notes/_delete_', { body: everything }), {
    body: { deleted: 0 },
  });
  const upsert = (code: string, action: string, token = ann.token) =>
    harness.call({
      path: '/app/notes',
      body: [{ text: 'up', code }],
      headers: { ...page(token), options: JSON.stringify({ onConflict: { field: 'code', do: action } }) },
    });
  t.match(await upsert('a', 'update'), { status: 200, body: [{ text: 'up', owner: ann.user.id }] });
  for (const action of ['update', 'skip']) t.match(await upsert('c', action), refusal('not_unique'), action);
  t.match(await as(ann.token, '/app/notes/clear-records', { method: 'DELETE' }), denied(/all records/));
  t.match(await as(ben.token, '/app/notes/_delete_', { body: everything }), {
    body: { deleted: 2 },
  });
  t.strictSame((await owners()).length, 2);

  // an account never goes below zero, however many take from it at once
  await setRules('notes', { find: true, update: { stars: { gte: 0 } }, delete: true });
  await notes.clear();
  const { body: account } = await notes.insertOne({ text: 'account', stars: 5 });
  const take = () =>
    as(undefined, '/app/notes/update-by-id', { query: [['id', account.id]], body: { stars: { $inc: -1 } } });
  const taken = await Promise.all(Array.from({ length: 12 }, take));
  t.equal(taken.filter(({ status }) => status === 200).length, 5);
  t.match((await notes.find()).body, [{ stars: 0 }]);
  t.match(await as(undefined, '/app/notes/clear-records', { method: 'DELETE' }), { body: { deleted: 1 } });
});

t.test('a user who changes, rules that change, and fields that go', async (t) => {
  const [ann] = await twoUsers();
  await notes.clear();
  await notes.insert([{ text: 'red' }, { text: 'blue' }]);
  await setRules('notes', { find: { $not: [{ text: { ne: '$user.role' } }] } });
  const texts = async () =>
    (await as(ann.token, '/app/notes')).body?.map(({ text }: { text: string }) => text);
  t.strictSame(await texts(), ['red']);
  t.strictSame((await as(undefined, '/app/notes')).body, [], 'the opposite of what there is not is not met');
  await users.updateOneById(ann.user.id, { role: 'blue' });
  t.strictSame(await texts(), ['blue']);
  await users.updateOneById(ann.user.id, { role: null });
  t.strictSame(await texts(), []);
  await setRules('notes', { find: { text: { in: ['red', '$user.role'] } } });
  t.strictSame(await texts(), [], 'a list lacks a value');
  await setRules('notes', { find: { text: { in: ['red'] } } });
  t.strictSame(await texts(), ['red']);
  await setRules('notes', { find: { createdAt: { lt: '$now' }, text: 'red' } });
  t.ok((await as(ann.token, '/app/notes')).status === 200);
  const dropped = { method: 'DELETE', path: '/_projects_/app/spaces/notes/fields/text' };
  await harness.call(dropped);
  t.match(await as(ann.token, '/app/notes'), denied(/no longer fit/));
  const { body } = await harness.call({ path: '/_projects_/app/spaces/notes/rules' });
  t.match(body.warnings, [/Nobody may do anything/]);
  await setRules('notes', null);
  t.match(await as(ann.token, '/app/notes'), denied(/nobody find/));

  const odd = spaceOf(harness, 'app', 'odd', fieldsOf('$user TEXT, $now TEXT'));
  await odd.insert([{ $user: 'x', $now: 'y' }, { $user: 'z' }]);
  await setRules('odd', { find: { $user: 'x' } });
  t.strictSame((await as(undefined, '/app/odd')).body.length, 1, 'a field of that name is one');
});

t.test('rules of files that addresses get around', async (t) => {
  const rules = { read: { owner: '$user.id' } };
  t.match(await harness.call({ method: 'PUT', path: '/_projects_/links/files/rules', body: rules }), {
    status: 200,
    body: { warnings: [/^With FILE_LINKS=public/, /users\) does not exist/] },
  });
});

t.test('rules are tried, with reasons', async (t) => {
  const [ann] = await twoUsers();
  const posts = spaceOf(
    harness,
    'app',
    'posts',
    fieldsOf('text TEXT required, public BOOLEAN, owner TEXT, draft BOOLEAN'),
  );
  const { body: stored } = await posts.insert([
    { text: 'open', public: true, owner: 'x' },
    { text: 'mine', public: false, owner: ann.user.id },
    { text: 'closed', public: false, owner: 'x' },
  ]);
  const rules = {
    find: noteRules.find,
    update: noteRules.update,
    insert: noteRules.insert,
    set: noteRules.set,
  };
  await setRules('posts', rules);
  const attempt = (body: object) => harness.call({ path: '/_projects_/app/spaces/posts/rules/try', body });
  const found = await attempt({ operation: 'find', user: ann.user.id });
  t.match(found, {
    status: 200,
    body: {
      user: ann.user.id,
      records: [
        {
          id: stored[0].id,
          allowed: true,
          why: ['find: public is true; the rule says = true'],
          record: { text: 'open' },
        },
        { allowed: true, why: [/owner is/], record: { text: 'mine' } },
        { allowed: false, why: [/public is false/, /owner is x/], record: null },
      ],
    },
  });
  const changed = await attempt({
    operation: 'update',
    user: ann.user.id,
    ids: [stored[1].id, 'none'],
    record: { owner: 'x' },
  });
  t.match(changed.body.records, [
    { allowed: false, why: [/update, then: owner is x/], record: { text: 'mine' } },
    { allowed: false, why: [/no such record/] },
  ]);
  t.match((await attempt({ operation: 'delete' })).body.records[0], {
    allowed: false,
    why: ['delete: the rules allow nobody'],
  });
  t.match((await attempt({ operation: 'insert', user: ann.user.id, record: { text: 'new' } })).body.records, [
    { id: null, allowed: true, record: { text: 'new', owner: ann.user.id } },
  ]);
  t.match((await attempt({ operation: 'insert', record: { text: 'new' } })).body.records, [
    { allowed: false, why: [/there is none/] },
  ]);
  const why = async (find: unknown, user: string | null) =>
    (await attempt({ operation: 'find', user, ids: [stored[1].id], rules: { find } })).body.records[0].why;
  const lacking = 'find: owner = $user.id: nobody is logged in';
  t.strictSame(await why({ owner: '$user.id' }, null), [lacking]);
  t.strictSame(await why({ $not: [{ owner: '$user.id' }] }, null), [lacking]);
  t.strictSame(await why({ $or: [{ public: true }, { owner: '$user.id' }] }, null), [
    'find: public is false; the rule says = true',
    lacking,
  ]);
  t.strictSame(await why({ owner: '$user.role' }, ann.user.id), [
    'find: owner = $user.role: no match without a value of the user',
  ]);
  t.match(await why({ id: '' }, null), [/^find: id is .*; the rule says = ""/], 'a comparison of the author');
  t.match(
    (await attempt({ operation: 'find', rules: { find: true } })).body.records.length,
    3,
    'others than the stored ones',
  );
  t.match(await attempt({ operation: 'find', user: 'nobody' }), refusal('no_match'));
  t.match(await attempt({ operation: 'look' }), refusal('invalid_body', /operation should be/));
  t.match(await attempt({ operation: 'insert' }), refusal('invalid_body', /record is missing/));
  t.match(await attempt({ operation: 'find', rules: { find: { none: 1 } } }), refusal('invalid_rules'));
  t.match(await attempt({ operation: 'insert', record: { none: 1 } }), refusal('invalid_value'));
  t.match((await posts.find()).body.length, 3, 'nothing was changed');
  const { body } = await harness.call({ path: '/_projects_/app/spaces/posts/rules' });
  t.strictSame(body.rules, rules);
  t.match(await harness.call({ path: '/_projects_/app/spaces/missing/rules' }), { status: 404 });
});

const isShort = !full && process.env.SLUICE_TEST_SERVED === undefined;
t.test(
  'rules that change during updates: each is allowed by the old ones or the new ones',
  { skip: isShort },
  async (t) => {
    const [ann] = await twoUsers();
    const things = spaceOf(harness, 'app', 'things', fieldsOf('owner TEXT, n NUMBER'));
    const { body: thing } = await things.insertOne({ owner: ann.user.id, n: 0 });
    const mine = { find: true, update: { owner: '$user.id' } };
    await setRules('things', mine);
    const change = async (n: number) => ({
      n,
      ...(await as(ann.token, '/app/things/update-by-id', { query: [['id', thing.id]], body: { n } })),
    });
    const flips = async () => {
      for (let round = 0; round < 10; round++) {
        await setRules('things', { find: true, update: { owner: 'nobody' } });
        await setRules('things', mine);
      }
    };
    const [, ...answers] = await Promise.all([
      flips(),
      ...Array.from({ length: 100 }, (_, n) => change(n + 1)),
    ]);
    const made = answers.filter(({ status }) => status === 200);
    t.strictSame(
      answers.filter(({ status, code }) => status !== 200 && code !== 'no_match'),
      [],
    );
    t.ok(made.length > 0);
    const { body: now } = await things.findOne(`id=${thing.id}`);
    t.ok(
      made.some(({ n }) => n === now.n),
      'what is stored was acknowledged',
    );
    await setRules('things', { find: true });
    t.match(await change(1000), denied(/nobody change/));
  },
);
