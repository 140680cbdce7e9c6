/** A client as users make one: types from /openapi.json by openapi-typescript, calls by openapi-fetch; it compiles, and runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

const root = join(import.meta.dirname, '../..');
const fields = fieldsOf('name TEXT required, age NUMBER');

const program = `
import createClient from 'openapi-fetch';
import type { paths, components } from './api.ts';
import type { paths as People } from './people.ts';
import type { paths as Typed } from './typed.ts';

const [baseUrl, token] = process.argv.slice(2);
const options = { baseUrl: baseUrl as string, headers: { authorization: 'Bearer ' + token } };
const api = createClient<paths>(options);
const structure = JSON.stringify({
  projectSlug: 'made', slug: 'people',
  recordStructure: [{ name: 'name', slug: 'name', type: 'TEXT', required: true }, { name: 'age', slug: 'age', type: 'NUMBER' }],
} satisfies components['schemas']['Structure']);
const path = { project: 'made', space: 'people' };
const header = { structure };

const inserted = await api.POST('/{project}/{space}', { params: { path, header }, body: [{ name: 'Ada', age: 36 }] });
// with \`Prefer: return=minimal\` it has counts
const id: string | undefined = Array.isArray(inserted.data) ? inserted.data[0]?.id : undefined;
const found = await api.GET('/{project}/{space}', { params: { path, header, query: { conditions: { age: '36' } } }, querySerializer: () => 'age=36' });
const refused = await api.GET('/{project}/{space}', { params: { path } });
const code: string | undefined = refused.error?.code;

const form = new FormData();
form.set('file', new File(['hello'], 'a.txt'));
const uploaded = await api.POST('/_f_/{project}/upload', {
  params: { path: { project: 'made' } }, body: { file: '' }, bodySerializer: () => form,
});
const link: string | undefined = uploaded.data?.s3Link;

const people = createClient<People>(options);
const stored = { 'use-pre-stored-structure': 'true' } as const;
const own = await people.POST('/made/people/_single_', { params: { header: stored }, body: { name: 'Grace', age: 45 } });
const age: number | null | undefined = own.data?.age;
const typed = await people.GET('/made/people', { params: { header: stored, query: { age: 45 } } });
const names: string[] = (typed.data ?? []).map((person) => person.name ?? '');
// @ts-expect-error the space has no such field
void own.data?.nothing;
// @ts-expect-error a name is needed
void (() => people.POST('/made/people/_single_', { params: { header: stored }, body: { age: 1 } }));

// the same type, and not just one that fits
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
const is = <A, B>(_: Same<A, B>): void => {};
const typedClient = createClient<Typed>(options);
const sent = {
  text: 'x', number: 1.5, flag: true, list: [1, 'x'], object: { a: 1 }, at: '2026-01-31T13:00:00+01:00',
  day: '2026-01-31', whole: 9007199254740991, big: '-9223372036854775808', price: '12.3',
};
const made = await typedClient.POST('/made/typed/_single_', { params: { header: stored }, body: sent });
type Made = NonNullable<typeof made.data>;
is<Made['text'], string | null>(true);
is<Made['number'], number | null>(true);
is<Made['flag'], boolean | null>(true);
is<Made['list'], unknown[] | null>(true);
is<Made['object'], { [key: string]: unknown } | null>(true);
is<Made['at'], string | null>(true);
is<Made['day'], string | null>(true);
is<Made['whole'], number | null>(true);
is<Made['big'], string | null>(true);
is<Made['price'], string | null>(true);
const exact = await typedClient.GET('/made/typed', {
  params: { header: stored, query: { big: '-9223372036854775808', at: '2026-01-31T12:00:00Z', price: '12.30' } },
});
// @ts-expect-error a whole number of 64 bits is a text in answers
void ((): number | null | undefined => made.data?.big);

console.log(JSON.stringify({ exact: exact.data, id, found: found.data?.length, code, link, age, names }));
`;

async function run(...command: string[]): Promise<{ status: number | null; output: string }> {
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, ...command], { cwd: root });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, output };
}

t.test('a client that is made from the description inserts, finds and uploads', async (t) => {
  const sluice = await startSluice();
  // below the project, so that imports are found
  const directory = await mkdtemp(join(root, 'node_modules/.cache-openapi-client-'));
  t.teardown(async () => {
    await rm(directory, { recursive: true, force: true });
    await sluice.stop();
    await removeData(sluice);
  });
  const { baseUrl, token } = sluice;
  const structure = structureOf('made', 'people', fields);
  t.equal((await call({ baseUrl, token, path: '/made/people/set-structure', body: structure })).status, 200);
  const typed = structureOf('made', 'typed', [
    ...fieldsOf('text TEXT, number NUMBER, flag BOOLEAN, list ARRAY, object OBJECT, at DATETIME, day DATE'),
    ...fieldsOf('whole INTEGER, big BIGINT'),
    { name: 'price', type: 'DECIMAL', precision: 18, scale: 2 },
  ]);
  t.equal((await call({ baseUrl, token, path: '/made/typed/set-structure', body: typed })).status, 200);
  for (const [name, path] of [
    ['api.ts', '/openapi.json'],
    ['people.ts', '/made/people/openapi.json'],
    ['typed.ts', '/made/typed/openapi.json'],
  ] as const) {
    for (const version of ['3.1', '3.0']) {
      const { body } = await call({ baseUrl, token, path: `${path}?version=${version}` });
      await writeFile(join(directory, name), astToString(await openapiTS(body)));
    }
  }
  await writeFile(join(directory, 'client.ts'), program);
  const tsconfig = {
    extends: join(root, 'tsconfig.json'),
    include: ['*.ts'],
    compilerOptions: { rootDir: root },
  };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(tsconfig));
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  const compiled = await run(join(root, 'node_modules/typescript/bin/tsc'), '-p', directory);
  t.strictSame(compiled, { status: 0, output: '' });
  const { status, output } = await run('--import', 'tsx', join(directory, 'client.ts'), baseUrl, token);
  t.equal(status, 0, output);
  const result = JSON.parse(output) as { id: string; link: string };
  t.match(result, { found: 1, code: 'missing_structure', age: 45, names: ['Grace'] });
  const exact = { at: '2026-01-31T12:00:00.000Z', day: '2026-01-31', whole: 9007199254740991 };
  t.match(result, { exact: [{ ...exact, big: '-9223372036854775808', price: '12.30' }] });
  t.match(result.id, /^[0-9a-f-]{36}$/);
  t.equal(await (await fetch(result.link)).text(), 'hello');
  t.ok((await readFile(join(directory, 'people.ts'), 'utf8')).includes('age: number | null'));
});
