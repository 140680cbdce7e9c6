import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const files = (readdirSync(join(root, 'test'), { recursive: true }) as string[])
  .map((name) => join('test', name))
  .filter((name) => /\.(?:test|full)\.ts$/.test(name) && !name.includes('node_modules'));

/** What scripts run that do not name it themselves. */
const byOthers: Readonly<Record<string, string>> = {
  'test/services/run-on-s3.ts': 'test/s3-servers/*.test.ts',
};

/** The test files that a script runs. */
function filesOf(script: string): string[] {
  const patterns = script
    .split(' ')
    .map((word) => byOthers[word] ?? word)
    .filter((word) => word.startsWith('test/'))
    .map((word) => new RegExp(`^${word.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`));
  return files.filter((file) => patterns.some((pattern) => pattern.test(file)));
}

t.test('CI runs every test file, at full size', async (t) => {
  const called = [...read('.ci/run').matchAll(/^tests (\S+)$/gm)].map(([, name = '']) => scripts[name] ?? '');
  t.ok(called.length > 1);
  t.strictSame(
    files.filter((file) => !called.some((script) => filesOf(script).includes(file))),
    [],
  );
  t.ok(called.some((script) => script.startsWith('TEST_SIZE=full ')));
});

t.test('`npm test` runs the unit tests, and of the others those without .full in their name', async (t) => {
  const quick = filesOf(scripts.test as string);
  const expected = files.filter((file) =>
    /^test\/(?:unit|integration|acceptance)\/[^/]*\.test\.ts$/.test(file),
  );
  t.strictSame(quick, expected);
});
