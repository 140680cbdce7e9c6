/**
 * Question: how long does the compiler take for an application of 50 record spaces and 500 calls?
 * Baseline: a file that does not use the client.
 * Command: npx --no-install tsc -p client/tsconfig.json && node --import tsx bench/client/check-time.ts
 */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const rounds = 3;
const compilerOptions = {
  target: 'ES2023',
  lib: ['ES2023', 'DOM', 'DOM.AsyncIterable'],
  module: 'ESNext',
  types: [],
  moduleResolution: 'bundler',
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
  paths: { 'sluice-client': [join(root, 'client/dist/index.d.ts')] },
};

function application(spaces: number, calls: number): string {
  const imports =
    'aggregate, array, boolean, connect, count, find, findOne, inc, insert, number, object, space, text, update, upsert';
  const spaceOf = (index: number): string => `const s${index} = space('s${index}', {
    city${index}: text({ required: true }), status: text<'paid' | 'open'>(), amount: number(), email: text({ unique: true }),
    tags: array<string[]>(), home: object(), paid: boolean(), secret: text({ hashed: true }), a: number(), b: text(),
  });`;
  const kinds = [
    (s: string, i: number) =>
      `(await find(db, ${s}, { where: { amount: { gte: ${i} } }, sort: ['-amount'] }))[0]?.amount`,
    (s: string) => `(await find(db, ${s}, { select: ['amount', 'status'], limit: 20 }))[0]?.status`,
    (s: string) =>
      `(await findOne(db, ${s}, { where: { $or: [{ status: 'paid' }, { paid: true }] } }))?.email`,
    (s: string) => `await count(db, ${s}, { where: { tags: { has: 'a' }, 'home.city': 'Paris' } })`,
    (s: string) =>
      `(await aggregate(db, ${s}, { groupBy: ['status'], values: { n: 'count', sum: { sum: 'amount' } }, sort: ['-n'] }))[0]?.sum`,
    (s: string, i: number) => `(await insert(db, ${s}, { city${i}: 'Paris', amount: 2 })).id`,
    (s: string, i: number) =>
      `(await insert(db, ${s}, [{ city${i}: 'Paris' }, { city${i}: 'Rome', b: 'x' }]))[0]?.b`,
    (s: string, i: number) =>
      `(await upsert(db, ${s}, { city${i}: 'Paris' }, { on: 'email', do: 'skip' })).email`,
    (s: string) => `(await update(db, ${s}, 'id', { status: 'open', email: null })).status`,
    (s: string) => `(await inc(db, ${s}, 'id', { amount: 1 })).amount`,
  ];
  const callOf = (index: number): string => {
    const kind = kinds[index % kinds.length] as (typeof kinds)[0];
    const at = Math.floor(index / kinds.length) % spaces;
    return `export const c${index} = ${kind(`s${at}`, at)};`;
  };
  return [
    `import { ${imports} } from 'sluice-client';`,
    `const db = connect({ url: '', token: '', project: '' });`,
    ...Array.from({ length: spaces }, (_, index) => spaceOf(index)),
    ...Array.from({ length: calls }, (_, index) => callOf(index)),
  ].join('\n');
}

/** Seconds of each round. Throws if the application does not compile. */
async function check(folder: string, source: string): Promise<number[]> {
  await mkdir(folder);
  await writeFile(join(folder, 'application.ts'), source);
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['application.ts'] }),
  );
  return Array.from({ length: rounds }, () => {
    const began = performance.now();
    const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
    if (status !== 0) throw new Error(String(stdout));
    return (performance.now() - began) / 1000;
  });
}

const folder = await mkdtemp(join(tmpdir(), 'sluice-check-'));
const shown = (seconds: number[]): string => seconds.map((one) => one.toFixed(2)).join(' s, ');
try {
  console.log(`baseline: ${shown(await check(join(folder, 'baseline'), 'export const x = 1;'))} s`);
  const source = application(50, 500);
  console.log(`50 spaces, 500 calls: ${shown(await check(join(folder, 'application'), source))} s`);
} finally {
  await rm(folder, { recursive: true });
}
