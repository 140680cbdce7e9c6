/** login without a hashed field, where functionOptions.login.compulsoryParams of the structure say so. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

const fields: FieldInput[] = fieldsOf('email TEXT, otpCode/otp-code NUMBER, password TEXT hashed');
const usersWith = (compulsoryParams?: unknown): string =>
  structureOf('p', 'users', fields, {
    functionOptions: compulsoryParams === undefined ? undefined : { login: { compulsoryParams } },
  });
const login = (body: object, compulsoryParams?: unknown) =>
  harness.call({
    path: '/p/function/login',
    headers: { 'function-resources': `{"mustExistSpaceStructures":[${usersWith(compulsoryParams)}]}` },
    body,
  });
const users = spaceOf(harness, 'p', 'users', usersWith());
const named = ['email', 'otpCode'];

t.test('the user who matches is logged in', async (t) => {
  const ada = (await users.insertOne({ email: 'ada@x', otpCode: 1234, password: 'p' })).body;
  await users.insertOne({ email: 'bob@x', otpCode: 9 });
  const right = await login({ email: 'ada@x', otpCode: 1234 }, named);
  t.equal(right.status, 200);
  t.strictSame(right.body.user, ada);
  const owner = await harness.call({
    path: '/p/users/get-token-owner',
    structure: usersWith(),
    headers: { token: right.body.token },
  });
  t.strictSame(owner.body, ada);
  t.match(await login({ email: 'ada@x', otpCode: 9 }, named), { status: 401 });
  t.match(await login({ email: 'ada@x', otpCode: 1234, password: 'wrong' }, named), { status: 401 });
  t.equal(
    (await login({ email: 'ada@x', 'otp-code': 1234, password: 'p' }, ['email', 'otp-code'])).status,
    200,
  );
});

t.test('what they name has to be given, and without them a hashed field', async (t) => {
  const refused = async (body: object, params: unknown, problem: RegExp) =>
    t.match(await login(body, params), { status: 400, code: 'invalid_condition', problems: [problem] });
  await refused({ email: 'ada@x' }, named, /'otpCode' is needed to log in/);
  await refused({ email: 'ada@x', password: 'p' }, named, /'otpCode' is needed/);
  await refused({ email: 'ada@x' }, ['id', 'email'], /'id' is needed/);
  await refused({ email: 'ada@x' }, ['nosuch'], /'nosuch', which is not in the structure/);
  for (const nothing of [undefined, null, [], 'email', [1], {}]) {
    await refused({ email: 'ada@x', otpCode: 1234 }, nothing, /hashed field/);
  }
});

t.test('guesses at a code are slowed down, from any client', async (t) => {
  await users.insertOne({ email: 'carl@x', otpCode: 7 });
  // after three that are free each takes its turn, with twice the delay of the one before
  const answers = await Promise.all(
    Array.from({ length: 14 }, (_, n) => login({ email: 'carl@x', otpCode: 100 + n }, named)),
  );
  t.ok(answers.some(({ status }) => status === 429));
  t.ok(answers.every(({ status }) => status === 429 || status === 401));
  t.equal((await login({ email: 'bob@x', otpCode: 9 }, named)).status, 200, 'others are not');
});
