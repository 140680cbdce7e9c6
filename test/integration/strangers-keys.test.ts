/** Idempotency keys of requests with a publishable token: nobody learns that another one used his key. */
import t from 'tap';
import { responseBytes } from '../services/fake-request.ts';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { freshness: { heardAfter: 0 } });
const users = spaceOf(harness, 'app', 'users', fieldsOf('name TEXT required unique, password TEXT hashed'));
const notes = spaceOf(harness, 'app', 'notes', fieldsOf('text TEXT'));
const publishable = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };
const [here, there] = ['192.0.2.1', '192.0.2.2'];

await users.insert([{ name: 'ann', password: 'ann' }]);
await notes.make();
for (const space of ['users', 'notes'])
  await harness.call({
    method: 'PUT',
    path: `/_projects_/app/spaces/${space}/rules`,
    body: { find: true, insert: true },
  });

interface Sender {
  readonly address: string;
  /** Of a user who has logged in. */
  readonly token?: string;
}

function inserting(
  space: string,
  body: object,
  { address, token }: Sender,
  idempotencyKey = 'the same',
): Parameters<typeof harness.call>[0] {
  return {
    path: `/app/${space}${Array.isArray(body) ? '' : '/_single_'}`,
    address,
    body,
    headers: { ...publishable, ...(token !== undefined && { token }), 'idempotency-key': idempotencyKey },
  };
}

const insert = (...args: Parameters<typeof inserting>) => harness.call(inserting(...args));

async function logIn(): Promise<{ token: string; user: { id: string } }> {
  const structures = { mustExistSpaceStructures: [JSON.parse(users.structure)] };
  const { body } = await harness.call({
    path: '/app/function/login',
    headers: { ...publishable, 'function-resources': JSON.stringify(structures) },
    body: { name: 'ann', password: 'ann' },
  });
  return body;
}

/** Whether an answer says that it is one of before, and its record. */
async function answered(...args: Parameters<typeof inserting>) {
  const answer = await harness.respond(inserting(...args));
  const body = JSON.parse((await responseBytes(answer)).toString());
  return { replayed: answer.headers?.['idempotent-replayed'] !== undefined, id: body.id as string };
}

t.test('a second stranger signs up with the key and the body of the first one', async (t) => {
  const body = { name: 'eve', password: 'hush' };
  const first = await insert('users', body, { address: here });
  t.equal(first.status, 200);
  const second = await insert('users', body, { address: there });
  t.match(second, refusal('not_unique'), 'no record, id or time of another one');
  t.notMatch(second.text, first.body.id);
});

t.test('a second stranger has a key that is taken, with another body', async (t) => {
  for (const [at, body] of [{ text: 'a' }, { text: 'b' }, [{ text: 'a' }]].entries())
    t.equal((await insert('notes', body, { address: here })).status, 200, `${at}: from the same address`);
  t.equal((await insert('notes', { text: 'c' }, { address: there })).status, 200);
  t.equal((await insert('users', { name: 'bob' }, { address: there })).status, 200, 'of another space');
});

t.test('a stranger who comes again gets his answer', async (t) => {
  const first = await answered('notes', { text: 'again' }, { address: here });
  t.notOk(first.replayed);
  t.strictSame(await answered('notes', { text: 'again' }, { address: here }), { ...first, replayed: true });
  await harness.restart();
  t.strictSame(await answered('notes', { text: 'again' }, { address: here }), { ...first, replayed: true });
  const other = await answered('notes', { text: 'again' }, { address: there });
  t.strictSame([other.replayed, other.id === first.id], [false, false], 'one at another address does not');
  const network = ['2001:db8:1:2::1', '2001:db8:1:2:3::4'] as const;
  const one = await answered('notes', { text: 'again' }, { address: network[0] });
  t.strictSame(
    await answered('notes', { text: 'again' }, { address: network[1] }),
    { ...one, replayed: true },
    'an IPv6 network is one address',
  );
  const both = [1, 2].map(() => answered('notes', { text: 'at once' }, { address: here }));
  const [left, right] = await Promise.all(both);
  t.equal(left?.id, right?.id, 'of two at once one stores the record');
});

t.test('a user, a stranger and the owner of the account have keys of their own', async (t) => {
  const body = { text: 'mine' };
  const ann = await logIn();
  const user = { address: here, token: ann.token };
  const ids = [
    (await answered('notes', body, { address: here }, 'k')).id,
    (await answered('notes', body, user, 'k')).id,
    // of the texts that tell them apart
    ...['k', `["${ann.user.id}","k"]`, `["${here}","k"]`].map(
      async (key) => (await harness.call(asOwner({ text: 'mine' }, key))).body.id as string,
    ),
  ];
  t.equal(new Set(await Promise.all(ids)).size, 5);
  t.strictSame(
    await answered('notes', body, { ...user, address: there }, 'k'),
    { replayed: true, id: ids[1] },
    'a user at another address is the same',
  );
  t.match(await insert('notes', { text: 'another' }, user, 'k'), {
    status: 422,
    code: 'idempotency_key_reused',
  });
  t.match(await harness.call(asOwner({ text: 'another' }, 'k')), {
    status: 422,
    code: 'idempotency_key_reused',
  });
});

function asOwner(body: object, key: string): Parameters<typeof harness.call>[0] {
  return {
    path: '/app/notes/_single_',
    structure: notes.structure,
    body,
    headers: { 'idempotency-key': key },
  };
}
