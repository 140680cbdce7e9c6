/** Imports: the records of a file become records of a space, all at one moment, as inserts would have stored them. */
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { importSpaces, type Job } from '../services/import-spaces.ts';
import { type QueryCall, queryHarnessFor } from '../services/query-harness.ts';
import { quickHasher } from '../services/quick-hasher.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';
import { full } from '../services/test-size.ts';

/** Its hash takes as long as the job. */
const endless = 'endless';
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

const hasher = quickHasher();
const harness = await queryHarnessFor(t, {
  freshness: { heardAfter: 0 },
  hasher: {
    ...hasher,
    hashValues: (values, signal) =>
      values.includes(endless) ? aborted(signal) : hasher.hashValues(values, signal),
  },
});

const made = importSpaces(t, harness);

t.test('a file is stored as inserts would have stored it', async (t) => {
  const fields = [
    ...fieldsOf('key TEXT unique required, text TEXT, number NUMBER, yes BOOLEAN, list ARRAY, home OBJECT'),
    { name: 'kind', type: 'TEXT' as const, defaultValue: 'usual' },
    { name: 'password', type: 'TEXT' as const, hashed: true },
  ];
  const inserted = await made('inserted', fields);
  const imported = await made('imported', fields);
  const records = [
    {
      key: 'a',
      text: 'x, "y"\nz',
      number: 1.5,
      yes: true,
      list: [1, { b: 1, a: 2 }],
      home: { z: 1, a: [] },
      kind: 'own',
    },
    { key: 'b', number: 1e23, yes: false },
    { key: 'c', text: '', number: -0.1, list: [], password: 'words' },
    { key: 'é😀', text: 'é😀', number: 5e-324 },
  ];
  await inserted.insert(records);
  const csv = [
    'number,key,text,yes,list,home,kind,password,id,createdAt',
    '1.5,a,"x, ""y""\nz",TRUE,"[1,{""b"":1,""a"":2}]","{""z"":1,""a"":[]}",own,,ignored,',
    '1e23,b,,false,,,,,,',
    '-0.1,c,"",,[],,,words,,',
    '5e-324,é😀,é😀,,,,,,,',
  ].join('\r\n');
  const job = await imported.run(csv);
  t.match(job, {
    state: 'done',
    records: 4,
    inserted: 4,
    skipped: 0,
    problemCount: 0,
    bytes: Buffer.byteLength(csv),
  });
  const plain = (rows: readonly Record<string, unknown>[]) =>
    rows.map(({ id: _, createdAt: __, updatedAt: ___, ...rest }) => rest);
  t.strictSame(plain(await imported.all()), plain(await inserted.all()));
  t.match((await imported.find('key=c&password=words')).body, [{ key: 'c' }]);
  t.match((await imported.find('key=c&password=other')).body, []);
  // the index of values, unique values, and the engine's own rows
  t.match(await imported.insertOne({ key: 'a' }), { status: 400, code: 'not_unique' });
  t.match((await imported.find('text=é😀')).body, [{ key: 'é😀' }]);

  const formats = [
    [
      'ndjson',
      records.map((record) => JSON.stringify(record)).join('\n'),
      { 'content-type': 'application/x-ndjson' },
    ],
    ['json', JSON.stringify(records), { 'content-type': 'application/json' }],
    ['gzipped', gzipSync(csv), {}],
    ['marked', `\ufeff${csv}`, {}],
    ['semicolons', 'key;number\na;1.5\nb;1e23', {}],
    ['said', 'sep=|\r\nkey|number\na|1.5\nb|1e23', {}],
  ] as const;
  for (const [format, body, headers] of full ? formats : formats.slice(0, 1)) {
    const one = await made(format, fields);
    t.match(await one.run(body, '', headers), { state: 'done', problemCount: 0 }, format);
    if (format !== 'semicolons' && format !== 'said')
      t.strictSame(plain(await one.all()), plain(await inserted.all()), format);
  }
  const escaped = await made('escaped', fieldsOf('a TEXT, b TEXT'));
  const formulas = `a,b\n'=1,''-2\n'x,'\n`;
  t.match(await escaped.run(formulas, 'unescapeFormulas=true'), { state: 'done' });
  t.match(await escaped.all(), [
    { a: '=1', b: "'-2" },
    { a: "'x", b: "'" },
  ]);
  // more than have columns of their own
  const wide = await made('wide', [
    ...Array.from(
      { length: 40 },
      (_, at): FieldInput => ({ name: `f${at}`, type: at % 2 ? 'TEXT' : 'NUMBER' }),
    ),
    ...Array.from({ length: 12 }, (_, at): FieldInput => ({ name: `b${at}`, type: 'BOOLEAN' })),
    ...Array.from({ length: 6 }, (_, at): FieldInput => ({ name: `t${at}`, type: 'TEXT' })),
    { name: 'last', type: 'TEXT', unique: true },
  ]);
  const row: Record<string, unknown> = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`f${at}`, at % 2 ? `x${at}é` : at / 3]),
  );
  for (let at = 0; at < 12; at++) row[`b${at}`] = at % 3 === 0;
  for (let at = 0; at < 6; at++) row[`t${at}`] = 'y'.repeat(at * 60);
  row.last = 'the last';
  const type = { 'content-type': 'application/json' };
  t.match(await wide.run(JSON.stringify([row]), '', type), { state: 'done' });
  t.match(await wide.all(), [row]);
  t.match((await wide.find('last=the last')).body, [row]);
  t.match(await wide.run(JSON.stringify([row]), '', type), {
    state: 'failed',
    problems: [{ field: 'last' }],
  });
  const bare = await made('bare', fieldsOf('a TEXT, b NUMBER'));
  t.match(await bare.run('x,1\ny,2\n', 'header=false'), { state: 'done', inserted: 2 });
  t.match(await bare.all(), [
    { a: 'x', b: 1 },
    { a: 'y', b: 2 },
  ]);
});

const keyed = fieldsOf('key TEXT unique, number NUMBER required');

t.test('all or nothing, and a report', async (t) => {
  const space = await made('stop', keyed);
  await space.insertOne({ key: 'stored', number: 0 });
  const csv = 'key,number\na,1\nb,\nc,x\n"d\nd",1\nd,"1,5"\na,2\nstored,3\ne,9007199254740993\nf,1,2\n';
  const problems = [
    { line: 3, field: 'number', reason: 'is required' },
    { line: 4, field: 'number', reason: 'should be a valid number' },
    { line: 7, field: 'number', reason: 'has a decimal comma, and should have a point' },
    { line: 8, field: 'key', reason: 'is unique, and an earlier record has the same value' },
    { line: 10, field: 'number', reason: 'has more digits than a NUMBER can hold' },
    { line: 11, field: null, reason: 'it has 3 cells, and there are 2 columns' },
  ];
  const stopped = await space.run(csv);
  t.match(stopped, {
    state: 'failed',
    inserted: 0,
    error: 'Nothing was imported: 6 records have problems',
    problemCount: 6,
  });
  t.strictSame(stopped.problems, problems);
  t.equal((await space.all()).length, 1);

  const skipped = await space.run(csv, 'onError=skip');
  t.match(skipped, { state: 'done', records: 9, inserted: 2, skipped: 7, problemCount: 7 });
  const taken = { line: 9, field: 'key', reason: 'is unique, and a record with the same value is stored' };
  t.strictSame(
    skipped.problems.toSorted((one: Job, other: Job) => one.line - other.line),
    [...problems.slice(0, 4), taken, ...problems.slice(4)],
  );
  t.strictSame(
    (await space.all()).map(({ key }) => key),
    ['stored', 'a', 'd\nd'],
  );
  // in a space that has it by now
  t.match(await space.run('key,number\na,5\n'), { state: 'failed', problems: [{ line: 2, field: 'key' }] });
  t.match(await space.run('key,number\n'), { state: 'done', records: 0, inserted: 0 });

  const many = Array.from({ length: 1500 }, () => 'x,x').join('\n');
  const cut = await space.run(`key,number\n${many}`);
  t.match(cut, { state: 'failed' });
  t.equal(cut.problems.length, 1000);
  const report = await space.run(`key,number\n${many}\nlast,1\n`, 'onError=skip');
  t.match(report, { state: 'done', inserted: 1, problemCount: 1500 });
  t.equal(report.problems.length, 1000);
});

t.test('files that are not what they say', async (t) => {
  const space = await made('bad', keyed);
  const files = [
    ['UTF-16', Buffer.from('\ufeffkey,number\na,1', 'utf16le'), '', /UTF-16/],
    ['Latin-1', Buffer.from('key,number\n\xe9,1', 'latin1'), '', /not valid UTF-8/],
    ['a cut gzip', gzipSync('key,number\n'.repeat(1000)).subarray(0, 40), '', /damaged, or cut/],
    ['no header', 'a,1\nb,2\n', '', /column 'a' is no field/],
    ['a field twice', 'key,number,key\n', '', /two columns go to the field 'key'/],
    ['a column without a name', 'key,,number\n', '', /column 2 has no name/],
    ['10,000 columns', Array.from({ length: 10_000 }, (_, at) => `c${at}`).join(), '', /no field/],
    ['a quote without its end', 'key,number\n"a,1\n', '', /no end/],
    ['a cell of 10 MB', `key,number\n${'x'.repeat(10_000_000)},1\n`, '', /more than 1048576 characters/],
    ['no array', '{"key":"a"}', 'format=json', /not a JSON array/],
    ['CSV as NDJSON', 'key,number\na,1\n', 'format=ndjson', /not valid JSON/],
    ['an image', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), '', /not valid UTF-8/],
  ] as const;
  for (const [what, body, query, problem] of full ? files : files.filter((_, at) => at % 3 === 0)) {
    const job = await space.run(body, query);
    t.match(job, { state: 'failed', inserted: 0, problems: [{ reason: problem }] }, what);
  }
  t.strictSame(await space.all(), []);
  for (const [query, headers, body, expected] of [
    ['', { 'content-type': 'text/plain' }, 'a', { status: 415 }],
    ['', {}, '', { status: 400, code: 'invalid_body' }],
    ['onError=maybe', {}, 'a', { status: 400, code: 'invalid_options' }],
    ['mode=fast', {}, 'a', { status: 400, code: 'invalid_options' }],
    ['delimiter=ab', {}, 'a', { status: 400, code: 'invalid_options' }],
  ] as const)
    t.match(await space.begin(body, query, headers), expected, query);
});

t.test('the same key imports once', async (t) => {
  const space = await made('keyed', keyed);
  const headers = { 'idempotency-key': 'one' };
  const first = await space.begin('key,number\na,1\n', '', headers);
  const again = await space.begin('key,number\na,1\n', '', headers);
  t.equal(again.body.id, first.body.id);
  await space.over(first.body.id);
  t.match((await space.begin('key,number\na,1\n', '', headers)).body, { id: first.body.id, state: 'done' });
  t.match(await space.begin('key,number\nb,1\n', '', headers), {
    status: 422,
    code: 'idempotency_key_reused',
  });
  t.equal((await space.all()).length, 1);
});

t.test('imported records are changed, removed and found like others', { skip: !full }, async (t) => {
  const space = await made('changed', fieldsOf('key TEXT unique, number NUMBER, city TEXT'));
  // three blocks of a table: the third is made where the first was
  const lines = Array.from({ length: 105_000 }, (_, at) => `k${at},${at},c${at % 7}`);
  const job = await space.run(`key,number,city\n${lines.join('\n')}`);
  t.match(job, { state: 'done', inserted: 105_000 });
  const [{ id = '' } = {}] = (await space.find('key=k5')).body as { id: string }[];
  await space.updateOneById(id, { city: 'elsewhere' });
  await space.updateOne([['key', 'k104999']], { number: -1 });
  await space.deleteOneById(((await space.find('key=k7')).body as { id: string }[])[0]?.id as string);
  for (const round of ['as they lie', 'merged']) {
    t.match((await space.find('city=elsewhere')).body, [{ key: 'k5', number: 5 }], round);
    t.match((await space.find('key=k104999')).body, [{ number: -1, city: 'c6' }], round);
    t.strictSame((await space.find('key=k7')).body, [], round);
    t.strictSame((await space.count()).body, { count: 104_999 }, round);
    t.strictSame((await space.count('city=c3')).body, { count: 15_000 }, round);
    await harness.db.command({ sql: 'OPTIMIZE TABLE sluice.records FINAL' });
  }
});

t.test('two at once, beside inserts, and a structure that changes', { skip: !full }, async (t) => {
  const space = await made('busy', keyed);
  const file = (prefix: string): string =>
    `key,number\n${Array.from({ length: 3000 }, (_, at) => `${prefix}${at},1`).join('\n')}`;
  const jobs = await Promise.all(['a', 'b'].map((prefix) => space.begin(file(prefix))));
  const inserts = Array.from({ length: 30 }, (_, at) => space.insertOne({ key: `own ${at}`, number: at }));
  const ended = await Promise.all(jobs.map(({ body }) => space.over(body.id)));
  t.match(ended, [{ state: 'done' }, { state: 'done' }]);
  for (const { status } of await Promise.all(inserts)) t.equal(status, 200);
  t.strictSame((await space.count()).body, { count: 6030 });
  // the same values: one of them has them all
  const rivals = await Promise.all([space.begin(file('c')), space.begin(file('c'))]);
  const outcomes = (await Promise.all(rivals.map(({ body }) => space.over(body.id)))).map(
    ({ state }) => state,
  );
  t.strictSame(outcomes.sort(), ['done', 'failed']);
  t.strictSame((await space.count()).body, { count: 9030 });
});

t.test('a job is seen by its account, and cancelled', async (t) => {
  const space = await made('jobs', keyed);
  const { body: job } = await space.begin('key,number\na,1\n');
  await space.over(job.id);
  t.match(await harness.call({ path: `/_jobs_/${job.id}`, owner: 'another' }), { status: 404 });
  t.strictSame((await harness.call({ path: '/_jobs_', owner: 'another' })).body, { jobs: [], next: null });
  const { body: page } = await harness.call({ path: '/_jobs_', query: 'limit=1' });
  t.match(page, { jobs: [{ id: job.id }], next: job.id });
  t.match((await harness.call({ path: '/_jobs_', query: `limit=2&after=${job.id}` })).body.jobs.length, 2);
  t.match(await harness.call({ method: 'DELETE', path: `/_jobs_/${job.id}` }), { body: { state: 'done' } });
  t.match(await harness.call({ path: '/_jobs_/nothing' }), { status: 404 });
  const granted = (path: string, grants: object) =>
    harness.call({ path, headers: { 'test-grants': JSON.stringify(grants) } });
  t.match(await granted(`/_jobs_/${job.id}`, { projects: ['p'], may: ['insert'] }), { status: 200 });
  t.match(await granted(`/_jobs_/${job.id}`, { spaces: ['jobs'] }), { status: 200 });
  t.match(await granted('/_jobs_', { spaces: ['jobs'] }), { body: { jobs: [{ id: job.id }] } });
  for (const lacking of [{ projects: ['q'] }, { spaces: ['busy'] }, { may: ['find'] }]) {
    t.match(await granted(`/_jobs_/${job.id}`, lacking), { status: 403, code: 'not_granted' });
    if (!('may' in lacking)) t.notMatch((await granted('/_jobs_', lacking)).text, job.id);
  }

  const large = `key,number\n${Array.from({ length: 200_000 }, (_, at) => `k${at},1`).join('\n')}`;
  const { body: running } = await space.begin(large);
  const { body: cancelled } = await harness.call({ method: 'DELETE', path: `/_jobs_/${running.id}` });
  t.equal(cancelled.state, 'cancelled');
  t.strictSame((await space.count()).body, { count: 1 });
  // by a process that does not work on it
  const slow = await made('slow', [...fieldsOf('n NUMBER'), { name: 'secret', type: 'TEXT', hashed: true }]);
  const { body: far } = await slow.begin(`n,secret\n1,${endless}\n`);
  const { body: stopped } = await harness.another().call({ method: 'DELETE', path: `/_jobs_/${far.id}` });
  t.equal(stopped.state, 'cancelled');
  t.strictSame((await slow.count()).body, { count: 0 });
  const tables = await harness.store.db.rows({
    sql: "SELECT name FROM system.tables WHERE name LIKE 'import_%'",
  });
  t.strictSame(tables, [], 'no table is left');
});

t.test('a space that is not there gets the structure that a file has', async (t) => {
  const send = (slug: string, body: string, query = '', headers: QueryCall['headers'] = {}) =>
    harness.call({
      method: 'POST',
      path: `/p/${slug}/_import_`,
      query,
      body,
      headers: { 'content-type': 'text/csv', ...headers },
    });
  const typesOf = (structure: { recordStructure: { name: string; type: string }[] }) =>
    Object.fromEntries(structure.recordStructure.map(({ name, type }) => [name, type]));
  const csv = [
    'id,name,zip,price,isOpen,tags,more,mixed,empty,large',
    ',Ada,00123,1.5,true,[1],{},1,,1',
    ',Bob,10115,-2e3,FALSE,"[""a""]","{""a"":1}",x,,9007199254740993',
  ].join('\n');
  const types = {
    name: 'TEXT',
    zip: 'TEXT',
    price: 'NUMBER',
    isOpen: 'BOOLEAN',
    tags: 'ARRAY',
    more: 'OBJECT',
    mixed: 'TEXT',
    empty: 'TEXT',
    large: 'TEXT',
  };
  const { status, body, problems: why } = await send('fresh', csv, 'dryRun=true');
  t.equal(status, 200, why.join());
  t.strictSame(typesOf(body.structure), types);
  t.match(body, { records: 2, problems: [] });
  t.match(await harness.call({ path: '/p/fresh/openapi.json' }), { status: 404 }, 'nothing was made');
  t.match(await send('fresh', csv, '', { 'auto-create-record-space': 'false' }), { status: 404 });

  const { body: job } = await send('fresh', csv);
  await eventuallyEqual(
    t,
    async () => (await harness.call({ path: `/_jobs_/${job.id}` })).body.state,
    'done',
  );
  const stored = { 'use-pre-stored-structure': 'true' };
  t.match((await harness.call({ path: '/p/fresh', headers: stored })).body, [
    {
      name: 'Ada',
      zip: '00123',
      price: 1.5,
      isOpen: true,
      tags: [1],
      more: {},
      mixed: '1',
      empty: null,
      large: '1',
    },
    { name: 'Bob', price: -2000, isOpen: false, more: { a: 1 }, large: '9007199254740993' },
  ]);
  // by the stored structure, then
  t.match(await send('fresh', 'price,isOpen\nx,maybe\n', 'dryRun=true'), {
    body: {
      records: 1,
      problems: [
        { line: 2, field: 'price' },
        { line: 2, field: 'isOpen' },
      ],
    },
  });
  const many = `{"a":1}\n`.repeat(5000);
  const json = { 'content-type': 'application/x-ndjson' };
  t.match(await send('rows', many, 'dryRun=true', json), { body: { records: 1000, problems: [] } });
  for (const [text, headers] of [
    ['a,a\n1,2', {}],
    ['\n', {}],
    [',\n1,2', {}],
    ['[1]', { 'content-type': 'application/json' }],
    ['"a', {}],
  ] as const)
    t.match(await send('wrong', text, '', headers), { status: 400 }, text);
  t.match(await harness.call({ path: '/p/wrong/openapi.json' }), { status: 404 });
});
