/** Rules of record spaces: what strangers, users and servers that act for users may find and change. */
import t from 'tap';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { freshness: { heardAfter: 0 } });
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
  t.match(await notes.find('', undefined, page()), denied(/nobody find/), 'nothing by default');
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
  t.match(
    await insert({ text: 'x', code: 'a1' }, b.token),
    refusal('not_unique', /a record with the same value/),
  );
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
  await refused({ find: { owner: '$me' } }, /stands for nothing/);
  await refused({ set: { owner: 5 } }, /valid string/);
  await refused({ set: { none: 5 } }, /not a field/);
  await refused({ hidden: ['none'] }, /not a field/);
  await refused({ readonly: 'owner' }, /array of fields/);
  await refused({ users: '..' }, /slug/);
  const deep = { $or: [{ $or: [{ $or: [{ $or: [{ $or: [{ $or: [{ public: true }] }] }] }] }] }] };
  await refused({ find: deep }, /deeper/);
});
