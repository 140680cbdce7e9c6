/**
 * Commands in pages, messages, samples and help run what is meant. `npx NAME` asks the registry for a package that anybody
 * may have put there, and runs it with the variables of the shell.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const tops = ['bench', 'cli', 'client', 'common', 'console', 'deploy', 'docs', 'events', 'findings'];
tops.push('gateway', 'query');
const names = (
  await Promise.all(
    tops.map(async (top) =>
      (await readdir(join(root, top), { recursive: true })).map((name) => join(top, name)),
    ),
  )
).flat();
const written = /\.(?:md|mjs|sh|tsx?|ya?ml|json|html)$|Dockerfile$/;
const paths = [...names, ...(await readdir(root)), '.ci/run'].filter(
  (path) =>
    (written.test(path) || path === '.ci/run') &&
    !/(?:^|\/)(?:node_modules|dist|package-lock\.json)(?:\/|$)/.test(path),
);
const texts = await Promise.all(
  paths.map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })),
);

interface Package {
  readonly scripts: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
}
const readPackage = async (path: string) => JSON.parse(await readFile(join(root, path), 'utf8')) as Package;
const [server, client] = await Promise.all(['package.json', 'client/package.json'].map(readPackage));

/** Every match, with its file. */
function found(pattern: RegExp): readonly { readonly path: string; readonly name: string }[] {
  return texts.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(([whole, name = whole]) => ({ path, name })),
  );
}

t.test('nothing is run from the registry by its name alone', async (t) => {
  t.ok(texts.length > 700);
  // prose about npx has its name in backticks
  t.strictSame(found(/\bnpx +(?!--no-install )[@\w]\S*/g), []);
  t.strictSame(found(/\b(?:npm exec|npm x|bunx|pnpm dlx|yarn dlx|npm create) \S+/g), []);
});

t.test('a command of an installed package is one that it has', async (t) => {
  const own = Object.keys({ ...server?.bin, ...client?.bin });
  t.strictSame(own.sort(), ['sluice', 'sluice-types']);
  // bins of packages that the page installs, or package.json
  const others = ['openapi-ts', 'openapi-typescript', 'tsc', 'tsx'];
  const named = found(/\bnpx --no-install ([\w@/-]+)/g);
  t.ok(named.length > 10);
  t.strictSame(
    named.filter(({ name }) => !own.includes(name) && !others.includes(name)),
    [],
  );
});

t.test('npm scripts, and commands of the server, are ones that there are', async (t) => {
  const scripts = Object.keys(server?.scripts ?? {});
  const named = found(/\bnpm run (?:-s |--if-present )?([a-z][\w:-]*)/g).filter(
    // its scripts at that time
    ({ path }) => path !== 'CHANGELOG.md',
  );
  t.ok(named.length > 50);
  t.strictSame(
    named.filter(({ name }) => !scripts.includes(name)),
    [],
  );
  const [, table = ''] =
    /const scripts[^{]*\{([^}]+)\}/.exec(await readFile(join(root, 'cli/sluice.ts'), 'utf8')) ?? [];
  const commands = [...table.matchAll(/^ *'?([\w-]+)'?:/gm)].map(([, name]) => name);
  t.ok(commands.includes('export'));
  const run = found(/\b(?:npm run -s sluice --|npx --no-install sluice) ([a-z][\w-]*)/g);
  t.ok(run.length > 8);
  t.strictSame(
    run.filter(({ name }) => !commands.includes(name)),
    [],
  );
});
