/** Hostile paths, query strings, options and headers: a clear 4xx or exactly what they say, and never a failure. */
import t, { type Test } from 'tap';
import { openCanary } from '../services/canary.ts';
import { brokenTexts, hostileTexts, oddJson } from '../services/hostile-texts.ts';
import { type QueryAnswer, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

const fields = fieldsOf('text TEXT, number NUMBER, flag BOOLEAN, list ARRAY, map OBJECT, secret TEXT hashed');
const structure = structureOf('hostile', 'headers', fields);
const space = spaceOf(harness, 'hostile', 'headers', structure);
const { body: records } = await space.insert([
  { text: 'a', number: 1, flag: true, list: [1], map: { a: 1 } },
  { text: 'b', number: 2, flag: false, list: [2], map: { b: 2 } },
  { text: 'c' },
]);
const canary = await openCanary(harness, 'hostile', 'headers');
const before = await canary.look();

/** Every operation that a path, a query string or a header reaches. */
const routes = [
  { method: 'GET', suffix: '' },
  { method: 'GET', suffix: '/_single_' },
  { method: 'GET', suffix: '/search' },
  { method: 'GET', suffix: '/get-key-values' },
  { method: 'GET', suffix: '/get-token-owner' },
  { method: 'POST', suffix: '', body: [{ text: 'no' }] },
  { method: 'POST', suffix: '/_single_', body: { text: 'no' } },
  { method: 'POST', suffix: '/update', body: { text: 'no' } },
  { method: 'POST', suffix: '/update-by-id', body: { text: 'no' } },
  { method: 'POST', suffix: '/set-key-values', body: { text: 'no' } },
  { method: 'POST', suffix: '/set-structure', body: { recordStructure: [] } },
  { method: 'POST', suffix: '/set-inferred-structure', body: { text: 'no' } },
  { method: 'POST', suffix: '/get-inferred-structure', body: { text: 'no' } },
  { method: 'DELETE', suffix: '' },
  { method: 'DELETE', suffix: '/clear-records' },
];

/** Only plain text: a name with a line break or a number sign would be read as something else by the test runner. */
function refused(t: Test, answer: QueryAnswer, called: string, code?: string): void {
  const name = called.replace(/[^\w .:-]/g, (char) => `<${char.codePointAt(0)?.toString(16)}>`);
  t.ok(answer.status >= 400 && answer.status < 500, `${name}: ${answer.status}`);
  t.ok(answer.code !== null && answer.problems.length > 0 && answer.problems[0] !== '', `${name}: says why`);
  if (code !== undefined) t.equal(answer.code, code, name);
}

t.test('no slug but a good one names a project or a space, on no route', async (t) => {
  const slugs = [
    ...hostileTexts.filter((text) => !/^[A-Za-z0-9][\w-]*$/.test(text)),
    'x'.repeat(201),
    ...'function _f_ -a a.b a/b ..'.split(' '),
    'x'.repeat(64),
    'x'.repeat(50_000),
    'a\n',
  ];
  for (const [index, slug] of slugs.entries()) {
    for (const { method, suffix, body } of routes) {
      const name = `slug ${index} ${method} ${suffix}`;
      const isName = !/^(\.|\.\.|function)$|\p{Cc}|\uFFFD|.{201}/u.test(slug);
      const projects = slug === 'function' ? [] : [[slug, 'headers']];
      const spaces = isName ? [] : [['hostile', slug]];
      for (const [project, own] of [...projects, ...spaces] as [string, string][]) {
        const path = `/${encodeURIComponent(project)}/${encodeURIComponent(own)}${suffix}`;
        const call = { method, path, structure: structureOf(project, own, fields) };
        // there are the addresses of files
        const code = project === '_f_' ? undefined : 'invalid_slug';
        refused(t, await harness.call(body === undefined ? call : { ...call, body }), name, code);
      }
    }
  }
});

t.test('slugs that every object has are only slugs', async (t) => {
  for (const slug of ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'NULL', 'true', 'undefined']) {
    const own = spaceOf(harness, slug, slug, fields);
    t.strictSame((await own.find()).body, []);
    const { body } = await own.insertOne({ text: slug });
    t.strictSame((await own.find([['text', slug]])).body, [body]);
  }
});

t.test('query strings with broken encodings and bytes that are not UTF-8', async (t) => {
  const broken = [
    ...['%', '%zz', '%2', 'text=%', 'text=%C0%80', 'text=%C1%BF', 'text=%E0%80%AF', 'text=%F8%88%80%80%80'],
    ...['text=%ED%A0%80', 'text=%ED%B0%80', 'text=%FF', 'text=%80', 'text=%E2%82', 'text=\uFFFD'],
    ...['\uFFFD=a', '%FE%FF=a'],
  ];
  for (const query of broken) {
    for (const suffix of ['', '/_single_', '/search']) {
      const answer = await harness.call({ path: `/hostile/headers${suffix}`, structure, query });
      refused(t, answer, query, 'malformed_request');
    }
  }
  t.strictSame((await space.find('text=%00')).body, [], 'a NUL is a character');
  t.strictSame((await space.find('text=a%00')).body, []);
  t.strictSame((await space.find('text=%EF%BF%BD')).body, [], 'a replacement character that was sent');
});

t.test('query parameters that are no conditions', async (t) => {
  const unknown = [
    ...['text[]=a', 'text[$ne]=a', 'text[0]=a', 'text.a=a', '$where=1', '__proto__=a', '__proto__[x]=a'],
    ...['constructor=a', 'constructor.prototype.x=a', 'toString=a', '=a', '%00=a', '_id=a', '_created_at=a'],
    ...['`text`=a', "text'=a", 'TEXT=a', ' text=a'],
    'x'.repeat(50_000),
  ];
  for (const query of unknown) refused(t, await space.find(query), query.slice(0, 50), 'invalid_condition');
  for (const text of hostileTexts) refused(t, await space.find([[text, 'a']]), 'a name', 'invalid_condition');
  for (const text of brokenTexts) refused(t, await space.find([[text, 'a']]), 'a name', 'invalid_condition');
  t.strictSame((await space.find('&&&')).body, records, 'empty parts are nothing');
  t.strictSame((await space.find('text=a&text=b')).body, [], 'a field is not two things');
  t.strictSame((await space.find('text=a&text=a')).body, [records[0]]);
  t.strictSame((await space.find('text=a&text=b', { paramRelationship: 'Or' })).body, records.slice(0, 2));
  const many = (count: number) => Array.from({ length: count }, () => 'text=a').join('&');
  t.strictSame((await space.find(many(100))).body, [records[0]]);
  refused(t, await space.find(many(101)), '101 conditions', 'invalid_condition');
  refused(t, await space.find(many(1001)), '1001 parameters', 'malformed_request');
  refused(t, await space.find('secret=a'), 'a hash alone', 'invalid_condition');
  refused(t, await space.find('secret=a&text=a', { paramRelationship: 'Or' }), 'Or', 'invalid_condition');
  refused(t, await space.find('text=a&secret=a&secret=a&secret=a&secret=a&secret=a&secret=a'), 'six hashes');
});

t.test('texts that are no value of a type are no condition on it', async (t) => {
  const notNumbers =
    ' |1 |0x10|0b1|1_000|1,5|1.|.|+|-|--1|1e|e1|1e999|-1e999|NaN|nan|Infinity|-inf|１|٣|1\0|1;|1 OR 1=1|null|true|[1]|"1"';
  for (const text of notNumbers.split('|')) {
    refused(t, await space.find([['number', text]]), `number ${text}`, 'invalid_condition');
  }
  refused(t, await space.find([['number', '']]), 'no number', 'invalid_condition');
  t.strictSame((await space.find([['number', `1.${'0'.repeat(50_000)}`]])).body, [records[0]], 'a long one');
  t.strictSame((await space.find([['number', `9${'0'.repeat(307)}`]])).body, []);
  refused(t, await space.find([['number', '9'.repeat(308)]]), 'rounded', 'invalid_condition');
  for (const text of ['', 'True', 'TRUE', '1', '0', 'yes', 'null', 'true ', 'true\0']) {
    refused(t, await space.find([['flag', text]]), `flag ${text}`, 'invalid_condition');
  }
  for (const text of hostileTexts) {
    for (const name of ['number', 'flag', 'list', 'map', 'createdAt', 'updatedAt']) {
      const parsed = { flag: /^true$/, number: /^1e308$/, list: /^\[1,2\]$/, map: /^\{"a":1\}$/ };
      const fits = (parsed as Record<string, RegExp>)[name]?.test(text) === true;
      const answer = await space.find([[name, text]]);
      if (fits) t.equal(answer.status, 200, name);
      else refused(t, answer, `${name} ${JSON.stringify(text)}`, 'invalid_condition');
    }
  }
  for (const [kind, json] of Object.entries(oddJson)) {
    for (const name of ['list', 'map']) {
      const { status } = await space.find([[name, json]]);
      const fits = kind.includes(name === 'list' ? 'array' : 'object') || /prototype|operator/.test(kind);
      const wanted = fits || kind === 'repeated keys' ? [200, 400] : [400];
      t.ok(wanted.includes(status), `${kind} for ${name}: ${status}`);
    }
  }
});

const optionValues = Object.entries(oddJson);

t.test('options: every kind of value for every key', async (t) => {
  const right: Record<string, RegExp> = {
    paramRelationship: /^null$/,
    pagination: /^(null|object|empty object|nested objects|a prototype|an operator|repeated keys)$/,
    'pagination.limit': /^a number as text$/,
    'pagination.page': /^a number as text$/,
    sort: /^(null|object|empty object|empty array|nested objects|a prototype|an operator|repeated keys)$/,
    'sort.by': /^(null|empty text)$/,
    'sort.order': /^(true-is-none)$/,
  };
  const template = (key: string, json: string): string => {
    const [outer, inner] = key.split('.') as [string, string | undefined];
    if (inner === undefined) return `{"${outer}":${json}}`;
    const rest = { limit: ',"page":1', page: ',"limit":1', by: '', order: ',"by":"text"' }[inner] as string;
    return `{"${outer}":{"${inner}":${json}${rest}}}`;
  };
  for (const [kind, json] of optionValues) {
    for (const [key, takes] of Object.entries(right)) {
      const name = `${key} ${kind}`;
      for (const read of [space.find, space.findOne]) {
        const answer = await read('', template(key, json));
        if (takes.test(kind)) t.equal(answer.status, 200, name);
        else refused(t, answer, name, 'invalid_options');
      }
    }
    const whole = await space.find('', json);
    if (kind === 'empty object' || /^(object|an operator|a prototype|repeated keys)$/.test(kind)) {
      t.equal(whole.status, 200, `options ${kind}: unknown keys are ignored`);
    } else if (kind !== 'nested objects') refused(t, whole, `options ${kind}`, 'invalid_options');
  }
  for (const text of [
    ...['{', 'undefined', '{"sort":}', "{'sort':{}}", '{"a":1}x', '\0', '{"sort":NaN}', '\uFFFD'],
  ]) {
    refused(t, await space.find('', text), text, 'invalid_options');
  }
  for (const number of [
    ...['0', '-1', '1.5', '1e308', '9007199254740992', 'NaN', 'Infinity', '1e999', '"0"', '"1.5"', '-0'],
  ]) {
    for (const page of [`{"limit":${number}}`, `{"limit":1,"page":${number}}`]) {
      refused(t, await space.find('', `{"pagination":${page}}`), page, 'invalid_options');
    }
  }
  t.strictSame((await space.find('', { pagination: {} })).body, records, 'no limit');
  refused(t, await space.find('', { pagination: { limit: 2 ** 52, page: 3 } }), 'too far', 'invalid_options');
  t.strictSame((await space.find('', { pagination: { limit: 2 ** 53 - 1 } })).body, records);
  t.strictSame((await space.find('', { pagination: { limit: 1, page: 2 ** 53 - 1 } })).body, []);
  t.strictSame((await space.find('', '{"pagination":{"limit":9,"limit":1}}')).body, records.slice(0, 1));
});

t.test('options: no text but a name orders, and none but the two words combines', async (t) => {
  for (const text of [
    ...hostileTexts,
    ...brokenTexts,
    ...['_id', '_created_at', 'secret', 'text DESC', 'text, number'],
  ]) {
    refused(t, await space.find('', { sort: { by: text } }), `by ${JSON.stringify(text)}`, 'invalid_options');
    refused(t, await space.find('', { sort: { by: 'text', order: text } }), 'order', 'invalid_options');
    refused(t, await space.find('', { paramRelationship: text }), 'relationship', 'invalid_options');
    const updated = await space.updateOne('text=a', { text: 'changed' }, { sort: { by: text } });
    refused(t, updated, 'update', 'invalid_options');
  }
  t.strictSame((await space.find()).body, records);
});

t.test('populate is a clear answer whatever it holds', async (t) => {
  for (const [kind, json] of optionValues) {
    const { status, code } = await space.find('', `{"populate":${json}}`);
    const nothing = kind === 'null' || kind === 'empty array';
    t.strictSame([status, code], nothing ? [200, null] : [400, 'invalid_options'], kind);
  }
});

t.test('the fixed headers are true or false', async (t) => {
  const names = [
    ...'auto-create-project auto-create-record-space clear-all-spaces mutate'.split(' '),
    ...'use-pre-stored-structure infer-structure'.split(' '),
  ];
  for (const name of names) {
    for (const text of [...hostileTexts, '', 'TRUE', '1', 'true, true', ' true']) {
      if (text === 'true') continue;
      const answer = await harness.call({ path: '/hostile/headers', structure, headers: { [name]: text } });
      refused(t, answer, `${name} ${JSON.stringify(text)}`, 'invalid_header');
    }
  }
  refused(t, await space.find('', {}, { 'clear-all-spaces': 'true' }), 'clear', 'clear_not_allowed');
});

t.test('searches: every text in every parameter', async (t) => {
  const search = (query: string | [string, string][]) =>
    harness.call({ path: '/hostile/headers/search', structure, query });
  for (const text of [...hostileTexts, ...brokenTexts, ...'number secret list id createdAt _id'.split(' ')]) {
    refused(
      t,
      await search([
        ['searchText', 'a'],
        ['searchableFields[]', text],
      ]),
      'field',
      'invalid_condition',
    );
    // beside the text there may be conditions
    if (text === 'id') continue;
    refused(
      t,
      await search([
        ['searchText', 'a'],
        ['searchableFields', 'text'],
        [text, 'text'],
      ]),
      'key',
      'invalid_condition',
    );
  }
  for (const query of [
    ...['', 'searchText=a', 'searchableFields=text', 'searchText=a&searchText=b&searchableFields=text'],
    ...['searchText[]=a&searchableFields=text', 'searchText[$ne]=a&searchableFields=text'],
    ...['searchText=a&searchableFields[0]=text', 'searchText=a&searchableFields='],
    'searchText=a&searchableFields=text,number',
    `searchText=a&${Array.from({ length: 101 }, () => 'searchableFields=text').join('&')}`,
    `searchText=${'a'.repeat(1001)}&searchableFields=text`,
  ]) {
    refused(t, await search(query), query.slice(0, 60), 'invalid_condition');
  }
  t.strictSame((await search(`searchText=&searchableFields=text`)).body, records, 'the empty text');
});

t.test('login tokens: whatever the header holds that is none is a 401', async (t) => {
  const part = (value: unknown): string =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const claims = { sub: records[0].id, pid: 'p', sid: 's', iat: 1, exp: 99999999999 };
  const headers = [
    { alg: 'none' },
    { alg: 'none', typ: 'login+jwt', kid: 'x' },
    { alg: 'HS256', typ: 'login+jwt' },
    { alg: 'HS256', typ: 'login+jwt', kid: '__proto__' },
    { alg: 'HS256', typ: 'login+jwt', kid: "' OR 1=1 --" },
    { alg: 'HS256', typ: 'login+jwt', kid: { toString: 1 } },
    { alg: 'HS256', typ: 'login+jwt', kid: '../../dev/null' },
    { alg: 'RS256', typ: 'login+jwt', kid: 'x', jwk: { kty: 'oct', k: 'AA' } },
    { alg: 'HS256', typ: 'login+jwt', kid: 'x', crit: ['b64'], b64: false },
    { alg: 'HS256', typ: 'login+jwt', kid: 'x', crit: 1 },
    { alg: ['HS256'], typ: 'login+jwt' },
    { alg: 'dir', enc: 'A128GCM' },
    [],
    null,
    1,
    'text',
    '',
  ];
  const tokens = [
    ...hostileTexts,
    ...brokenTexts,
    ...'. .. ... .... a.b.c'.split(' '),
    'x'.repeat(2048),
    'x'.repeat(60_000),
    `${'e30.'.repeat(10_000)}`,
    ...headers.map((header) => `${part(header)}.${part(claims)}.AAAA`),
    ...headers.map((header) => `${part(header)}.${part(claims)}.`),
    ...[null, [], 1, 'text', '', { sub: 1 }].map((payload) => `${part(headers[4])}.${part(payload)}.AAAA`),
  ];
  const guarded = structureOf('hostile', 'guarded', fields, { authOptions: { space: 'headers' } });
  const owner = { path: '/hostile/headers/get-token-owner', structure };
  const find = { path: '/hostile/guarded', structure: guarded };
  const calls = tokens.flatMap((token, index) => [
    { ...owner, headers: { token }, name: `token ${index}` },
    { ...find, headers: { token }, name: `token ${index}` },
    { ...find, headers: { options: JSON.stringify({ token }) }, name: `token ${index}` },
  ]);
  for (const [kind, json] of optionValues) {
    calls.push({ ...find, headers: { options: `{"token":${json}}` }, name: `token ${kind}` });
  }
  // at once: those that name an unknown key share one look for it
  const answers = await Promise.all(calls.map((call) => harness.call(call)));
  for (const [index, answer] of answers.entries()) {
    refused(t, answer, calls[index]?.name ?? '', 'unauthorized');
  }
});

t.test('nothing else was touched', async (t) => {
  t.strictSame((await space.find()).body, records);
  t.strictSame(await canary.look(), before);
});
