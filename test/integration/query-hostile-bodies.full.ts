/** Hostile bodies: framing, kinds, sizes and credentials. All or nothing is stored, and every refusal says why. */
import t, { type Test } from 'tap';
import { slugOfName } from '#kernel/ids/slug-of-name.ts';
import { openCanary } from '../services/canary.ts';
import { brokenTexts, hostileTexts, oddJson } from '../services/hostile-texts.ts';
import { type QueryAnswer, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);
const fields: FieldInput[] = fieldsOf('text TEXT, secret TEXT hashed, email TEXT unique');
const structure = structureOf('hostile', 'bodies', fields);
const space = spaceOf(harness, 'hostile', 'bodies', structure);
const { body: user } = await space.insertOne({ text: 'a', email: 'a@x', secret: 'right' });
const canary = await openCanary(harness, 'hostile', 'bodies');
const before = await canary.look();

function refused(t: Test, answer: QueryAnswer, name: string, code?: string): void {
  t.ok(answer.status >= 400 && answer.status < 500, `${name}: ${answer.status}`);
  t.ok(answer.code !== null && answer.problems.length > 0 && answer.problems[0] !== '', `${name}: says why`);
  t.ok(answer.problems.length <= 1001, `${name}: is no longer than anybody reads`);
  if (code !== undefined) t.equal(answer.code, code, name);
}

const login = (body: unknown, project = 'hostile') =>
  harness.call({
    path: `/${project}/function/login`,
    headers: {
      'function-resources': `{"mustExistSpaceStructures":[${structureOf(project, 'bodies', fields)}]}`,
    },
    body,
  });
const writes = {
  insert: (body: unknown) => space.insert(body),
  insertOne: (body: unknown) => space.insertOne(body),
  updateOne: (body: unknown) => space.updateOne('text=a', body),
  updateOneById: (body: unknown) => space.updateOneById(user.id, body),
  setKeys: (body: unknown) => space.setKeys(body),
  login,
  setStructure: (body: unknown) => harness.call({ path: '/hostile/bodies/set-structure', body }),
  setInferredStructure: (body: unknown) =>
    harness.call({ path: '/hostile/bodies/set-inferred-structure', body }),
  getInferredStructure: (body: unknown) =>
    harness.call({ path: '/hostile/bodies/get-inferred-structure', body }),
};

t.test('bodies that are no JSON, or JSON of another kind', async (t) => {
  const texts = [
    ...hostileTexts,
    ...Object.entries(oddJson)
      .filter(([kind]) => !/object|prototype|operator|repeated/.test(kind))
      .map(([, json]) => json),
    ...['{}', '{', '{"text":}', '{"text":"a",}', "{'text':'a'}", '{"text":"a"}{"text":"b"}'],
    ...['{"text":"\n"}', '{"text":"\\x41"}', '{text:"a"}', '{"text":NaN}', '// comment\n{"text":"a"}'],
    '['.repeat(500_000),
    '{"a":'.repeat(100_000),
    `"${'\\'.repeat(99_999)}`,
  ];
  for (const [index, text] of texts.entries()) {
    if (text === '{"a":1}') continue;
    for (const [name, write] of Object.entries(writes)) refused(t, await write(text), `${name} ${index}`);
  }
  t.strictSame((await space.find()).body, [user]);
});

t.test('bodies with keys that the structure lacks', async (t) => {
  const { setInferredStructure: _, getInferredStructure: __, setStructure: ___, insert, ...single } = writes;
  for (const [index, key] of [...hostileTexts, ...brokenTexts, 'id', 'createdAt', '_id', 'TEXT'].entries()) {
    const body = `{${JSON.stringify(key)}:"x","text":"changed","secret":"right"}`;
    for (const [name, write] of Object.entries(single)) {
      if (name === 'login' && key === 'id') continue;
      refused(t, await write(body), `${name} ${index}`, 'invalid_value');
    }
    refused(t, await insert(`[${body}]`), `insert ${index}`, 'invalid_value');
  }
  t.strictSame((await space.find()).body, [user]);
});

t.test('a sample record: its names become fields, or all that is wrong with them is said', async (t) => {
  for (const [index, name] of [...hostileTexts, ...brokenTexts].entries()) {
    const sample = `{${JSON.stringify(name)}:1}`;
    const slug = slugOfName(name);
    const answers = [
      await harness.call({ path: `/hostile/inf-${index}/get-inferred-structure`, body: sample }),
      await harness.call({ path: `/hostile/inf-${index}/set-inferred-structure`, body: sample }),
    ];
    for (const answer of answers) {
      const isName = slug.length > 0 && slug.length <= 200 && !/[\p{Cc}\p{Surrogate}\uFFFD]/u.test(name);
      if (!isName || slug === '__proto__') refused(t, answer, `name ${index}`, 'invalid_structure');
      else t.match(answer.body, { recordStructure: [{ name, slug, type: 'NUMBER' }] }, `name ${index}`);
    }
  }
});

t.test('credentials: no kind of value and no text but the right ones let anybody in', async (t) => {
  for (const [kind, json] of Object.entries(oddJson)) {
    for (const [name, body] of [
      ['email', `{"email":${json},"secret":"right"}`],
      ['secret', `{"email":"nobody${kind}","secret":${json}}`],
      ['id', `{"id":${json},"secret":"right"}`],
    ] as const) {
      refused(t, await login(body), `${name} ${kind}`);
    }
  }
  const some = hostileTexts.filter((_, index) => index % 3 === 0);
  for (const [index, text] of some.entries()) {
    refused(t, await login({ email: text, secret: 'right' }), `email ${index}`, 'unauthorized');
    refused(t, await login({ email: `b${index}`, secret: text }), `secret ${index}`, 'unauthorized');
  }
  refused(t, await login({ email: 'a@x' }), 'no secret');
  refused(t, await login({ secret: 'right' }), 'a secret alone');
  const { body, status } = await login({ email: 'a@x', secret: 'right' });
  t.equal(status, 200);
  t.equal(body.user.id, user.id);
});

t.test('hashed values: every text is a password of its own', async (t) => {
  const accounts = spaceOf(harness, 'hostile', 'accounts', fields);
  const some = hostileTexts.filter((text, index) => index % 5 === 0 || text.includes('\0'));
  const { body } = await accounts.insert(some.map((secret, index) => ({ email: `u${index}`, secret })));
  for (const [index, secret] of some.entries()) {
    const found = await accounts.findOne([
      ['email', `u${index}`],
      ['secret', secret],
    ]);
    t.strictSame(found.body, body[index], `secret ${index}`);
    const other = await accounts.findOne([
      ['email', `u${index}`],
      ['secret', `${secret}x`],
    ]);
    t.equal(other.body, null, `not secret ${index}`);
  }
});

// what went wrong before

t.test('a deeply nested structure is refused: JSON.stringify ran out of stack, a 500', async (t) => {
  for (const levels of [111, 5_000, 10_000, 30_000]) {
    const nested = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const text = (key: string, json: string) => structure.replace('{', `{"${key}":${json},`);
    const structures = [
      text('initialData', nested),
      text('initialData', `[{"text":${nested}}]`),
      text('unknown', nested),
      text('authOptions', nested),
    ];
    for (const deep of structures) {
      refused(
        t,
        await harness.call({ path: '/hostile/bodies', structure: deep }),
        'header',
        'invalid_structure',
      );
      refused(t, await writes.setStructure(deep), 'set-structure', 'invalid_structure');
      const headers = { 'function-resources': `{"mustExistSpaceStructures":[${deep}]}` };
      const body = { email: 'a@x', secret: 'right' };
      const answer = await harness.call({ path: '/hostile/function/login', headers, body });
      refused(t, answer, 'login', 'invalid_structure');
    }
  }
  const deepest = `${'['.repeat(100)}${']'.repeat(100)}`;
  const fits = structureOf('hostile', 'deepest', fieldsOf('list ARRAY'), {
    initialData: [{ list: JSON.parse(deepest) }],
  });
  t.equal(
    JSON.stringify((await harness.call({ path: '/hostile/deepest', structure: fits })).body[0].list),
    deepest,
  );
});

t.test('many tiny records are refused: names and defaults made them gigabytes, and a crash', async (t) => {
  const wide = Array.from({ length: 500 }, (_, i) => ({ name: `f${i}`, type: 'TEXT' }));
  const tiny = (count: number) => `[${Array.from({ length: count }, () => '{"f0":""}').join()}]`;
  const of = (slug: string, own: readonly FieldInput[]) => spaceOf(harness, 'hostile', slug, own);
  const manyFields = of('wide', wide);
  refused(t, await manyFields.insert(tiny(200_000)), 'many fields', 'invalid_body');
  const longDefault = of('defaults', [
    { name: 'f0', type: 'TEXT' },
    { name: 'f1', type: 'TEXT', defaultValue: 'x'.repeat(20_000) },
  ]);
  refused(t, await longDefault.insert(tiny(100_000)), 'long defaults', 'invalid_body');
  refused(t, await space.insert(`[${'0,'.repeat(8_000_000)}0]`), 'eight million zeros', 'invalid_body');
  for (const own of [manyFields, longDefault]) t.strictSame((await own.find()).body, []);
  t.equal((await manyFields.insert(tiny(1000))).body.length, 1000, 'what is ordinary is stored');
});

t.test('what is wrong with a large body is listed up to a point: answers ran to megabytes', async (t) => {
  // a record may have 10,000 keys
  const unknown = `{${Array.from({ length: 9_000 }, (_, i) => `"k${i}":0`).join()}}`;
  for (const write of [writes.insertOne, writes.updateOneById, writes.setKeys, writes.login]) {
    const answer = await write(unknown);
    t.match(answer, { status: 400, code: 'invalid_value' });
    t.equal(answer.problems.length, 1001);
    t.equal(answer.problems.at(-1), 'and 8000 more problems');
  }
  const records = `[${Array.from({ length: 50_000 }, () => '{"text":1}').join()}]`;
  t.equal((await space.insert(records)).problems.at(-1), 'and 49000 more problems');
  const nulls = `{${Array.from({ length: 9_000 }, (_, i) => `"k${i}":null`).join()}}`;
  refused(t, await writes.setInferredStructure(nulls), 'a sample of nulls', 'invalid_body');
  const scope = Array.from({ length: 100_000 }, () => 0);
  refused(
    t,
    await writes.setStructure({ recordStructure: [], authOptions: { space: 'u', scope } }),
    'scopes',
  );
});

t.test('nothing else was touched', async (t) => {
  t.strictSame((await space.find()).body, [user]);
  t.strictSame(await canary.look(), before);
});
