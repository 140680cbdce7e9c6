/** `sluice-types`, a command of the client: what a server has, as lines that the client compiles. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import ts from 'typescript';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const sluice = await sluiceFor(t);
const folder = await temporaryFolder(t);
const env = { SLUICE_URL: sluice.baseUrl, SLUICE_TOKEN: sluice.token };
const types = (...args: string[]) => runToEnd('cli/types.ts', ['--project', 'shop', ...args], env);

const wanted = `// Made by sluice-types: the record spaces of the project shop.
import { array, bigint, boolean, date, datetime, decimal, integer, number, object, space, text } from 'sluice-client';

export const class_ = space('class', {
  n: number(),
});

export const date_ = space('date', {
  at: datetime({ required: true }),
  day: date(),
  seats: integer(),
  odometer: bigint({ unique: true }),
  price: decimal({ precision: 18, scale: 2, required: true }),
});

export const orderItems = space('order-items', {
  city: text({ required: true }),
  'e-mail': text({ unique: true, normalize: ['trim', 'lower'], slug: 'mail' }),
  tags: array(),
  home: object(),
  paid: boolean({ hashed: true }),
});
`;

/** Uses of them, with the types that they are to have. */
const uses = `
import { aggregate, find, insert, type Client } from 'sluice-client';
declare const db: Client;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
const is = <A, B>(_: Same<A, B>): void => {};
const [trip] = await find(db, date_, { where: { at: { gt: new Date() }, odometer: { lt: 5n }, price: '1.00' } });
const [item] = await find(db, orderItems);
const [group] = await aggregate(db, date_, { values: { all: { sum: 'price' }, most: { max: 'odometer' } } });
type Trip = NonNullable<typeof trip>;
type Item = NonNullable<typeof item>;
is<Trip['at'], string>(true);
is<Trip['day'], string | null>(true);
is<Trip['seats'], number | null>(true);
is<Trip['odometer'], bigint | null>(true);
is<Trip['price'], string>(true);
is<Item['city'], string>(true);
is<Item['e-mail'], string | null>(true);
is<Item['tags'], readonly unknown[] | null>(true);
is<NonNullable<typeof group>['all'], string | null>(true);
is<NonNullable<typeof group>['most'], bigint | null>(true);
await insert(db, date_, { at: new Date(), price: '1.50', odometer: 2n ** 60n, day: '2026-01-31', seats: 4 });
await insert(db, class_, { n: 1.5 });
`;

/** What the compiler says of lines, with the client in its place. */
async function problemsOf(lines: string): Promise<readonly string[]> {
  const client = join(import.meta.dirname, '../../client');
  const file = join(folder, 'compiled.mts');
  await writeFile(file, lines.replaceAll("'sluice-client'", `'${join(client, 'src/index.ts')}'`));
  const { config } = ts.readConfigFile(join(client, '../tsconfig.json'), ts.sys.readFile);
  const { lib } = ts.readConfigFile(join(client, 'tsconfig.json'), ts.sys.readFile).config.compilerOptions;
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, lib, types: [] }, '/');
  const program = ts.createProgram([file], options);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

t.test('a project in lines, and whether they are right', async (t) => {
  const completed = (field: FieldInput): FieldInput =>
    field.name === 'e-mail'
      ? { ...field, normalize: ['lower', 'trim'] }
      : field.name === 'price'
        ? { ...field, precision: 18, scale: 2 }
        : field;
  const store = async (slug: string, ...fields: string[]): Promise<void> => {
    const answer = await fetch(`${sluice.baseUrl}/shop/${slug}/set-structure`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sluice.token}`, 'content-type': 'application/json' },
      body: structureOf('shop', slug, fieldsOf(...fields).map(completed)),
    });
    t.equal(answer.status, 200, await answer.text());
  };
  await store('class', 'n NUMBER');
  await store('order-items', 'city TEXT required', 'e-mail/mail TEXT unique', 'tags ARRAY');
  const all = ['city TEXT required', 'e-mail/mail TEXT unique', 'tags ARRAY', 'home OBJECT'];
  await store('order-items', ...all, 'paid BOOLEAN hashed');
  await store(
    'date',
    ...[
      'at DATETIME required',
      'day DATE',
      'seats INTEGER',
      'odometer BIGINT unique',
      'price DECIMAL required',
    ],
  );
  t.equal((await types()).stdout, wanted);
  const file = join(folder, 'spaces.ts');
  await types('--out', file);
  t.equal(await readFile(file, 'utf8'), wanted);
  t.equal((await types('--out', file, '--check')).status, 0);
  t.strictSame(await problemsOf(wanted), []);
  t.strictSame(await problemsOf(wanted + uses), []);
  t.match(await problemsOf(wanted.replace('precision: 18, ', '')), [/precision/]);
  await writeFile(file, wanted.replace('number()', 'text()'));
  const { status, stderr } = await types('--out', file, '--check');
  t.equal(status, 1);
  t.match(stderr, 'does not match the server');
  t.equal((await runToEnd('cli/types.ts', [], env)).status, 1, 'without a project');
});

t.test('a project that has installed the client has its command', async (t) => {
  // the test runner's own settings would reach npm
  const { NODE_OPTIONS: _runner, ...clean } = process.env;
  const run = (command: string, ...args: string[]) =>
    promisify(execFile)(command, args, { cwd: folder, env: { ...clean, ...env } });
  const client = join(import.meta.dirname, '../../client');
  const { stdout: packed } = await run('npm', 'pack', '--silent', '--pack-destination', folder, client);
  await writeFile(join(folder, 'package.json'), '{}');
  const tarball = join(folder, packed.trim().split('\n').at(-1) as string);
  await run('npm', 'install', '--silent', '--offline', '--no-audit', '--no-fund', tarball);
  const types = ['--no-install', 'sluice-types', '--project', 'shop'];
  t.equal((await run('npx', ...types)).stdout, wanted);
  t.match((await run('npx', ...types, '--help')).stdout, '  npx --no-install sluice-types --project SLUG');
  await t.rejects(run('npx', ...types, '--url', 'http://127.0.0.1:1/'), {
    code: 1,
    stderr: /^sluice-types: No answer/,
  });
});
