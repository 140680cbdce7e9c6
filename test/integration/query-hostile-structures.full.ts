/** Hostile structures: what they may say comes back as it was said, the rest is a clear 400 and changes nothing. */
import t, { type Test } from 'tap';
import { openCanary } from '../services/canary.ts';
import { brokenTexts, hostileTexts, oddJson, printableTexts } from '../services/hostile-texts.ts';
import { type QueryAnswer, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);
const canary = await openCanary(harness, 'hostile', 'structures');
const before = await canary.look();
/** U+FFFD in a name is refused: it is what broken bytes of a header become. */
const names = printableTexts.filter((text) => !text.includes('\uFFFD'));

function refused(t: Test, answer: QueryAnswer, called: string, code?: string): void {
  const name = called.replace(/[^\w .:-]/g, (char) => `<${char.codePointAt(0)?.toString(16)}>`);
  t.ok(answer.status >= 400 && answer.status < 500, `${name}: ${answer.status}`);
  t.ok(answer.code !== null && answer.problems.length > 0 && answer.problems[0] !== '', `${name}: says why`);
  if (code !== undefined) t.equal(answer.code, code, name);
}

const spacesMade = async (): Promise<number> => {
  const rows = await harness.db.rows({ sql: `SELECT id FROM sluice.record_spaces FINAL` });
  return rows.length;
};

t.test('names of fields: whatever has no control character is a name, in every place', async (t) => {
  const fields = names.map((name, i) => ({
    name,
    slug: `f${i}`,
    type: ['TEXT', 'ARRAY', 'OBJECT'][i % 3] as string,
    description: hostileTexts[i] ?? '',
    comment: hostileTexts[hostileTexts.length - i - 1] ?? '',
  }));
  const oneOf = (i: number) => ['v', ['v'], { v: 'v' }][i % 3];
  const odd = spaceOf(harness, 'hostile', 'names', fields);
  const body = `{${names.map((name, i) => `${JSON.stringify(name)}:${JSON.stringify(oneOf(i))}`)}}`;
  const stored = await odd.insertOne(body);
  t.equal(stored.status, 200, stored.problems.join());
  t.strictSame(Object.keys(stored.body), ['id', ...names, 'createdAt', 'updatedAt']);
  await odd.insertOne({ f0: 'another' });
  let current = stored.body;
  for (const [i, name] of names.entries()) {
    const value = oneOf(i);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const found = await odd.find([[name, text]], { sort: { by: name, order: 'desc' } });
    t.equal(JSON.stringify(found.body), `[${JSON.stringify(current)}]`, `name ${i}`);
    if (i % 3 === 0) t.equal((await odd.search('V', [name])).body.length, 1, `search ${i}`);
    const change = `{${JSON.stringify(name)}:${JSON.stringify(value)}}`;
    const updated = await odd.updateOne([[name, text]], change);
    t.equal(updated.status, 200, `update ${i}`);
    t.match(updated.body, { id: current.id });
    current = updated.body;
  }
  const { body: kept } = await harness.call({
    path: '/hostile/names/set-structure',
    body: structureOf('hostile', 'names', fields),
  });
  t.match(kept.recordStructure, fields, 'descriptions and comments are kept as they are');
  const keys = spaceOf(harness, 'hostile', 'name-keys', fields);
  t.equal((await keys.setKeys(body)).status, 200);
  t.strictSame(Object.keys((await keys.getKeys()).body), ['id', ...names, 'createdAt', 'updatedAt']);
});

t.test('the display name and the description of a space are any text', async (t) => {
  const fields = fieldsOf('text TEXT');
  for (const [index, text] of [...hostileTexts, ...brokenTexts].entries()) {
    const structure = structureOf('hostile', 'shown', fields, { name: text, description: text });
    const set = await harness.call({ path: '/hostile/shown/set-structure', body: structure });
    t.match(set.body, { name: text, description: text }, `text ${index}`);
    t.equal((await harness.call({ path: '/hostile/shown', structure })).status, 200, `header ${index}`);
  }
});

t.test('defaults of every type are values like any other', async (t) => {
  const fields: FieldInput[] = hostileTexts.flatMap((text, i) => [
    { name: `t${i}`, type: 'TEXT', defaultValue: text },
    { name: `l${i}`, type: 'ARRAY', defaultValue: [text] },
    { name: `m${i}`, type: 'OBJECT', defaultValue: { [text]: text } },
  ]);
  // U+FFFD is what broken bytes of a header become
  const sound = fields.filter(({ defaultValue }) => !JSON.stringify(defaultValue).includes('\uFFFD'));
  const space = spaceOf(harness, 'hostile', 'defaults', sound);
  const { body, problems, status } = await space.insertOne({ t0: 'given' });
  t.equal(status, 200, problems.join());
  for (const { name, defaultValue } of sound) {
    if (name !== 't0') t.strictSame(body[name], defaultValue, name);
  }
  t.strictSame((await space.find()).body, [body]);
  refused(t, await spaceOf(harness, 'hostile', 'd2', fields).find(), 'U+FFFD');
  for (const type of ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT']) {
    for (const [kind, json] of Object.entries(oddJson)) {
      const structure = structureOf('hostile', 'd3', [{ name: 'a', type, defaultValue: '@' }]).replace(
        '"@"',
        json,
      );
      const answer = await harness.call({ path: '/hostile/d3', structure });
      // another type than the stored one's is a conflict
      if (answer.status !== 200) refused(t, answer, `${kind} as a default of ${type}`);
      if (/^(nested|beyond a double|half)/.test(kind) && type !== 'ARRAY' && type !== 'OBJECT') {
        t.equal(answer.code, 'invalid_structure', `${kind} ${type}`);
      }
    }
  }
});

t.test('slugs and names that are none make nothing', async (t) => {
  const made = await spacesMade();
  const one = (field: object) => {
    const structure = structureOf('hostile', 'never', [{ name: 'a', type: 'TEXT', ...field }]);
    return harness.call({ path: '/hostile/never', structure });
  };
  for (const text of [
    ...hostileTexts,
    ...brokenTexts,
    '',
    'id',
    'createdAt',
    'updatedAt',
    'x'.repeat(201),
    '__proto__',
  ]) {
    if (/^(|id|createdAt|updatedAt|__proto__)$|\p{Cc}|\uFFFD|\p{Surrogate}|.{201}/u.test(text)) {
      refused(t, await one({ slug: text }), `slug ${text.slice(0, 20)}`, 'invalid_structure');
    }
    if (!/^(TEXT|NUMBER|BOOLEAN|ARRAY|OBJECT)$/.test(text)) {
      refused(t, await one({ type: text }), `type ${text.slice(0, 20)}`, 'invalid_structure');
    }
  }
  const bad = [
    ...hostileTexts.filter((text) => /\p{Cc}|\uFFFD/u.test(text)),
    ...brokenTexts,
    '',
    'id',
    'createdAt',
  ];
  for (const name of [...bad, 'updatedAt', 'x'.repeat(201)]) {
    refused(t, await one({ name, slug: 'a' }), `name ${name.slice(0, 20)}`, 'invalid_structure');
  }
  t.equal(await spacesMade(), made);
});

/** A structure with one key's JSON replaced. */
function withKey(key: string, json: string, slug: string): string {
  const text = structureOf('hostile', slug, [{ name: 'a', type: 'TEXT', defaultValue: 'x' }], {
    authOptions: { active: false, space: 'users', scope: ['find'], token: 'x' },
    webhooks: { onInsertUrl: 'http://127.0.0.1:9/', onUpdateUrl: '' },
    initialData: [{ a: 'x' }],
    clear: false,
    functionOptions: {},
    unknown: 1,
  });
  const replace = (value: object, [first, ...rest]: readonly string[]): object => {
    const old = (value as Record<string, object>)[first as string] as object;
    const changed = rest.length === 0 ? '@@' : replace(old, rest);
    return Array.isArray(value) ? [changed] : { ...value, [first as string]: changed };
  };
  return JSON.stringify(replace(JSON.parse(text) as object, key.split('.'))).replace('"@@"', () => json);
}

const keys = [
  ...['name', 'description', 'projectSlug', 'slug', 'recordStructure', 'clear', 'initialData', 'webhooks'],
  ...['authOptions', 'functionOptions', 'unknown', 'recordStructure.0', 'initialData.0', 'initialData.0.a'],
  ...['name', 'slug', 'type', 'required', 'unique', 'hashed', 'defaultValue'].map(
    (key) => `recordStructure.0.${key}`,
  ),
  ...['description', 'comment', 'unknown'].map((key) => `recordStructure.0.${key}`),
  ...['active', 'space', 'scope', 'scope.0', 'token', 'unknown'].map((key) => `authOptions.${key}`),
  ...['onInsertUrl', 'onUpdateUrl', 'unknown'].map((key) => `webhooks.${key}`),
];

t.test('every kind of value for every key, as header, as body and for login', async (t) => {
  let taken = 0;
  let count = 0;
  const canBeAnything = /unknown|functionOptions|description|comment|unknown/;
  for (const [position, key] of keys.entries()) {
    for (const [kind, json] of Object.entries(oddJson)) {
      const name = `${key} ${kind}`;
      const slug = `k${position}`;
      const text = withKey(key, json, slug);
      const answers = [
        await harness.call({ path: `/hostile/${slug}`, structure: text }),
        await harness.call({ path: `/hostile/${slug}/set-structure`, body: text }),
        await harness.call({
          path: '/hostile/function/login',
          headers: { 'function-resources': `{"mustExistSpaceStructures":[${text}]}` },
          body: { a: 'x', secret: 'x' },
        }),
      ];
      for (const answer of answers) {
        count++;
        if (answer.status === 200) taken++;
        else refused(t, answer, name);
      }
      if (kind.startsWith('nested')) {
        for (const answer of answers) t.equal(answer.code, 'invalid_structure', `${name}: too deep`);
      } else if (kind === 'beyond an integer') {
        for (const answer of answers) t.match(answer.problems, [/has more digits than a NUMBER can hold/]);
      } else if (canBeAnything.test(key) && key !== 'description') {
        t.equal(answers[0]?.status, 200, `${name}: ${answers[0]?.problems.join()}`);
      }
    }
  }
  t.comment(`${count} structures, ${taken} taken`);
  t.ok(taken > 100 && taken < count / 2);
});

t.test('webhooks: no address but of the web, and what has one is not written to', async (t) => {
  const urls = 'javascript:alert(1) file:///etc/passwd ftp://x/ http:// //x gopher://x data:,x'.split(' ');
  for (const url of [...hostileTexts, ...urls, `http://x/${'y'.repeat(3000)}`]) {
    const structure = structureOf('hostile', 'hooks', fieldsOf('a TEXT'), {
      webhooks: { onInsertUrl: url },
    });
    const answer = await harness.call({ path: '/hostile/hooks', structure });
    if (url === 'http://127.0.0.1:9/') t.equal(answer.status, 200);
    else refused(t, answer, `hook ${url.slice(0, 30)}`, 'invalid_structure');
  }
});

t.test('authOptions: a space that is none lets nobody in', async (t) => {
  for (const [index, text] of [...hostileTexts, 'x'.repeat(128)].entries()) {
    const structure = structureOf('hostile', `a${index}`, fieldsOf('a TEXT'), {
      authOptions: { space: text },
    });
    refused(t, await harness.call({ path: `/hostile/a${index}`, structure }), 'no token', 'unauthorized');
    const headers = { token: text };
    refused(
      t,
      await harness.call({ path: `/hostile/a${index}`, structure, headers }),
      'a token',
      'unauthorized',
    );
    const scoped = structureOf('hostile', 's', fieldsOf('a TEXT'), {
      authOptions: { space: 'u', scope: [text] },
    });
    refused(t, await harness.call({ path: '/hostile/s', structure: scoped }), 'scope', 'invalid_structure');
  }
});

t.test('repeated, contradicting and too many fields', async (t) => {
  const made = await spacesMade();
  const send = (fields: readonly FieldInput[]) =>
    harness.call({ path: '/hostile/twice', structure: structureOf('hostile', 'twice', fields) });
  const text = (name: string, slug = name): FieldInput => ({ name, slug, type: 'TEXT' });
  refused(t, await send([text('a'), text('a')]), 'a name twice', 'invalid_structure');
  refused(t, await send([text('a'), text('b', 'a')]), 'a slug twice', 'invalid_structure');
  refused(t, await send([text('a', 'b'), text('b', 'a')]), 'crossed', 'invalid_structure');
  refused(t, await send(Array.from({ length: 501 }, (_, i) => text(`f${i}`))), '501', 'invalid_structure');
  refused(t, await send([{ ...text('a'), unique: true, hashed: true }]), 'both', 'invalid_structure');
  t.equal(await spacesMade(), made);
  const repeatedKey = structureOf('hostile', 'twice', [text('a')]).replace(
    '"type":"TEXT"',
    '"type":"NO","type":"NUMBER"',
  );
  t.match(
    (await harness.call({ path: '/hostile/twice/_single_', structure: repeatedKey, body: { a: 1 } })).body,
    { a: 1 },
  );
});

t.test('a number beyond a double in a body or for login is no null: it was taken for one', async (t) => {
  for (const key of [
    'clear',
    'recordStructure.0.defaultValue',
    'authOptions.active',
    'recordStructure.0.unique',
  ]) {
    const text = withKey(key, '1e999', 'beyond');
    const set = await harness.call({ path: '/hostile/beyond/set-structure', body: text });
    refused(t, set, key, 'invalid_structure');
    const headers = { 'function-resources': `{"mustExistSpaceStructures":[${text}]}` };
    const login = await harness.call({ path: '/hostile/function/login', headers, body: { a: 'x' } });
    refused(t, login, key, 'invalid_structure');
  }
});

t.test('texts that are no structure', async (t) => {
  const good = structureOf('hostile', 'none', fieldsOf('a TEXT'));
  const texts = [
    ...hostileTexts,
    ...Object.values(oddJson),
    '',
    good.slice(1),
    good.slice(0, -1),
    `${good},`,
    `${good}${good}`,
  ];
  for (const [index, text] of [...texts, `\0${good}`, good.replaceAll('"', "'")].entries()) {
    refused(t, await harness.call({ path: '/hostile/none', structure: text }), `text ${index}`);
    refused(t, await harness.call({ path: '/hostile/none/set-structure', body: text }), `body ${index}`);
    const headers = { 'function-resources': text };
    refused(
      t,
      await harness.call({ path: '/hostile/function/login', headers, body: { a: 'x' } }),
      `login ${index}`,
    );
    const list = { 'function-resources': `{"mustExistSpaceStructures":${text}}` };
    refused(
      t,
      await harness.call({ path: '/hostile/function/login', headers: list, body: { a: 'x' } }),
      'list',
    );
    const one = { 'function-resources': `{"mustExistSpaceStructures":[${text}]}` };
    refused(
      t,
      await harness.call({ path: '/hostile/function/login', headers: one, body: { a: 'x' } }),
      'one',
    );
  }
});

t.test('nothing else was touched', async (t) => {
  const after = await canary.look();
  t.strictSame(after, { ...before, owners: [{ owner_id: 'canary' }, { owner_id: 'owner' }] });
  t.strictSame(after.strays, []);
});
