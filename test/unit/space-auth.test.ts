import t from 'tap';
import { scopes } from '#query/operations.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { structureText } from '#records/structure/structure.ts';
import { structureOf } from '../services/record-client.ts';

const parse = (more: object) =>
  parseStructure(structureOf('p', 's', [{ name: 'a', type: 'TEXT' }], more), scopes);

t.test('authOptions', async (t) => {
  const auth = (authOptions?: unknown) => parse({ authOptions }).structure?.auth;
  t.equal(auth(), null);
  t.equal(auth(null), null);
  const all = { active: true, space: 'User', scope: ['find', 'insert', 'update', 'delete'], token: null };
  t.strictSame(auth({ active: true, space: 'User', scope: ['find'] }), { ...all, scope: ['find'] });
  t.strictSame(auth({ space: 'User' }), all, 'what is not said is strict');
  t.match(auth({ active: false }), { active: false, space: '' });
  t.match(auth({ space: 'u', scope: [], token: 't' }), { scope: [], token: 't' });
  const scope = ['updateOneById', 'find'];
  t.strictSame(auth({ space: 'u', scope: [...scope, 'find'] })?.scope, scope);
  t.strictSame(auth({ space: 'u', scope: Array(100).fill('find') })?.scope, ['find']);
});

t.test('authOptions that make no sense', async (t) => {
  for (const [authOptions, ...problems] of [
    ['x', /not an object/],
    [[], /not an object/],
    [true, /not an object/],
    [{}, /without space/],
    [{ active: true }, /without space/],
    [{ active: 'yes', space: 'u' }, /active/],
    [{ active: 'yes', space: 1, scope: 'find', token: {} }, /active/, /space/, /scope/, /token/],
    [{ space: 'u', scope: ['find', 'read', 1] }, /'read'/, /unknown scope:/],
    [{ space: 'u', scope: ['login', '__proto__'] }, /'login'/, /'__proto__'/],
    [{ space: 'x'.repeat(201) }, /space/],
    [{ space: '\ud800' }, /space/],
    [{ space: 'u', scope: Array(101).fill('find') }, /101 entries/],
  ] as [unknown, ...RegExp[]][]) {
    const { structure, problems: found } = parse({ authOptions });
    t.equal(structure, null, JSON.stringify(authOptions));
    for (const problem of problems) t.match(found.join('\n'), problem);
  }
});

t.test('webhooks', async (t) => {
  t.equal(parse({}).structure?.webhooks, null);
  t.strictSame(parse({ webhooks: {} }).structure?.webhooks, { onInsertUrl: null, onUpdateUrl: null });
  t.strictSame(parse({ webhooks: { onInsertUrl: 'https://x/y', onUpdateUrl: '' } }).structure?.webhooks, {
    onInsertUrl: 'https://x/y',
    onUpdateUrl: null,
  });
  const wrong = ['x', 'file:///etc/passwd', 'javascript:alert(1)'].map((onInsertUrl) => ({ onInsertUrl }));
  const long = { onUpdateUrl: `https://x/${'y'.repeat(3000)}` };
  for (const webhooks of ['x', [], ...wrong, { onUpdateUrl: 1 }, long])
    t.match(parse({ webhooks }).problems, [/webhooks/], JSON.stringify(webhooks));
});

t.test('initialData is an array', async (t) => {
  t.strictSame(parse({}).structure?.initialData, []);
  t.strictSame(parse({ initialData: [{ a: 1 }] }).structure?.initialData, [{ a: 1 }]);
  for (const initialData of [{}, 'x', 1, true]) {
    t.match(parse({ initialData }).problems, [/initialData that is not an array/]);
  }
});

t.test('what is kept of a structure can be read again, and has no secret and no records', async (t) => {
  const { structure } = parse({
    authOptions: { active: true, space: 'User', scope: ['find'], token: 'a-secret' },
    webhooks: { onInsertUrl: 'https://x/y' },
    initialData: [{ a: 'a-record' }],
  });
  const text = structureText(structure as NonNullable<typeof structure>);
  t.notMatch(text, /a-secret|a-record|initialData|token/);
  const again = parseStructure(text).structure;
  t.match(again, {
    auth: { active: true, space: 'User', scope: ['find'], token: null },
    webhooks: { onInsertUrl: 'https://x/y', onUpdateUrl: null },
    initialData: [],
  });
  t.equal(structureText(again as NonNullable<typeof again>), text);
  const plain = parse({}).structure;
  t.notMatch(structureText(plain as NonNullable<typeof plain>), /authOptions|webhooks/);
});
