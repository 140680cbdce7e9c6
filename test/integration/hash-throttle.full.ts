import t from 'tap';
import { createHasher, type Hasher } from '#auth/hasher.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { quickHasher } from '../services/quick-hasher.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

let verifications = 0;
const quick = quickHasher();
const hasher: Hasher = {
  hashValues: quick.hashValues,
  verifyValue(...args) {
    verifications++;
    return quick.verifyValue(...args);
  },
};
const harness = await queryHarnessFor(t, { hasher });

const structure = structureOf(
  'p',
  'users',
  fieldsOf('email TEXT unique, nick TEXT unique, age NUMBER, password TEXT hashed'),
);
const users = spaceOf(harness, 'p', 'users', structure);

async function makeUser(name: string): Promise<string> {
  const { body } = await users.insertOne({ email: name, nick: `nick ${name}`, age: 1, password: 'right' });
  return body.id;
}

function login(body: object) {
  const resources = `{"mustExistSpaceStructures":[${structure}]}`;
  return harness.call({ path: '/p/function/login', headers: { 'function-resources': resources }, body });
}

/** More than are free, and more than can wait for their turn. */
async function guess(attempt: (password: string) => Promise<{ status: number }>): Promise<Set<number>> {
  const answers = await Promise.all(Array.from({ length: 14 }, (_, i) => attempt(`guess ${i}`)));
  return new Set(answers.map(({ status }) => status));
}

type Query = readonly (readonly [string, string])[];
const operations: Record<string, (query: Query) => Promise<{ status: number }>> = {
  findOne: (query) => users.findOne(query),
  find: (query) => users.find(query),
  updateOne: (query) => users.updateOne(query, { age: 2 }),
};

t.test('who guesses by a condition is slowed down like who guesses by login', async (t) => {
  const cases = Object.entries(operations).map(async ([name, run]) => {
    const id = await makeUser(name);
    const guessed = (email: string) => (password: string) =>
      run([
        ['email', email],
        ['password', password],
      ]);
    const [known, unknown] = await Promise.all([guess(guessed(name)), guess(guessed(`nobody ${name}`))]);
    t.ok(known.has(429), name);
    t.ok(unknown.has(429), 'whether there is such a user or not');
    // by whatever value the same user is named
    for (const by of [{ id }, { nick: `nick ${name}` }, { email: name }]) {
      t.equal((await login({ ...by, password: 'right' })).status, 429, Object.keys(by)[0] as string);
    }
  });
  await Promise.all(cases);
});

t.test('a comparison costs the same whether there is a user or not', async (t) => {
  await makeUser('somebody');
  const costs = [];
  for (const email of ['somebody', 'nobody']) {
    verifications = 0;
    await users.findOne([
      ['email', email],
      ['password', 'wrong'],
    ]);
    costs.push(verifications);
  }
  t.strictSame(costs, [1, 1]);
});

t.test('a find verifies ten hashes at most, and of more none', async (t) => {
  const user = (i: number, age: number) => ({
    email: `crowd ${age} ${i}`,
    nick: `crowd ${age} ${i}`,
    age,
    password: `right ${i}`,
  });
  const crowd = (age: number, count: number) =>
    users.insert(Array.from({ length: count }, (_, i) => user(i, age)));
  t.equal((await crowd(51, 10)).status, 200);
  t.equal((await crowd(52, 11)).status, 200);
  const byAge = (age: number): Query => [
    ['age', String(age)],
    ['password', 'right 3'],
  ];
  t.match((await users.find(byAge(51))).body, [{ nick: 'crowd 51 3' }]);
  const before = verifications;
  t.match(await users.find(byAge(52)), { status: 400, code: 'invalid_condition' });
  t.equal(verifications, before);
});

t.test('a right value forgets the failures', async (t) => {
  await makeUser('forgetful');
  for (let i = 0; i < 12; i++) {
    const password = i % 3 === 2 ? 'right' : 'wrong';
    const found = await users.findOne([
      ['email', 'forgetful'],
      ['password', password],
    ]);
    t.equal(found.status, 200);
    t.equal(found.body === null, password === 'wrong');
  }
});

t.test('an account that has much to hash does not keep another waiting', async (t) => {
  const patient = new AbortController().signal;
  const real = createHasher();
  const [stored] = await real.hashValues(['a'], patient, 'one');
  const order: string[] = [];
  const many = Array.from({ length: 40 }, () =>
    real.verifyValue(stored as string, 'a', patient, 'many').then(() => order.push('many')),
  );
  await real.verifyValue(stored as string, 'a', patient, 'few').then(() => order.push('few'));
  await Promise.all(many);
  // those of the others that are under way go first, and how fast they are is up to the machine; in a queue it was the last
  t.ok(order.indexOf('few') < 25, `after ${order.indexOf('few')} of the others`);
});
