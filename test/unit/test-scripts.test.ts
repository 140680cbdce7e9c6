import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { filesOf, type Suite, suites } from '../suites.ts';

const root = join(import.meta.dirname, '../..');
const files = (readdirSync(join(root, 'test'), { recursive: true }) as string[])
  .map((name) => join('test', name))
  .filter((name) => /\.(?:test|full)\.ts$/.test(name) && !name.includes('node_modules'));

t.test('CI runs every test file', async (t) => {
  const ci = readFileSync(join(root, '.ci/run'), 'utf8');
  const called = [...ci.matchAll(/^tests npm test -- (.+)$/gm)].flatMap(([, names = '']) =>
    names.split(' ').map((name) => suites[name] as Suite),
  );
  t.ok(called.length > 1);
  const run = new Set(called.flatMap(filesOf));
  t.strictSame(
    files.filter((file) => !run.has(file)),
    [],
  );
  t.ok(called.some(({ env }) => ['forms', 'full'].includes(env?.TEST_SIZE ?? '')));
});

t.test('`npm test` runs the unit tests, and of the others those without .full in their name', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  t.match(scripts.test, / test\/run\.ts$/);
  const expected = files.filter((file) =>
    /^test\/(?:unit|integration|acceptance|client)\/[^/]*\.test\.ts$/.test(file),
  );
  t.strictSame(filesOf(suites.default as Suite).sort(), expected.sort());
});

t.test('each file that a suite names is there', async (t) => {
  const missing = Object.values(suites)
    .flatMap(filesOf)
    .filter((file) => !files.includes(file));
  t.strictSame(missing, []);
});

t.test('each npm script has a line for those who need it', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = Object.keys(scripts).filter((name) => !/^(?:pre|post)/.test(name));
  t.ok(Object.keys(scripts).length <= 18, 'few are kept in mind');
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    ...readdirSync(join(root, 'docs')).map((name) => join('docs', name)),
  ];
  const text = pages
    .filter((page) => page.endsWith('.md'))
    .map((page) => readFileSync(join(root, page), 'utf8'));
  const isNamed = (name: string): boolean =>
    new RegExp(`(?:npm|npm run|npm run -s|sluice) ${name}\\b`).test(text.join('\n'));
  t.strictSame(
    names.filter((name) => !isNamed(name)),
    [],
  );
});
