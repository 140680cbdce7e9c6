import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const root = join(import.meta.dirname, '..');
const cache = join(root, 'node_modules/.cache');
/** Beside main.ts and the commands: what runs in a process or thread of its own, or in a server before all else. */
const programs = [
  ...['gateway/main.ts', 'query/main.ts', 'console/main.ts', 'cli/transfer/compare-tables.ts'],
  ...['query/imports/thread/import-thread.ts', 'query/imports/thread/preview-thread.ts'],
  ...['query/files/csv-check-thread.ts', 'query/files/first-problem-thread.ts'],
  ...['query/files/parquet-nulls-thread.ts', 'query/files/table-shape-thread.ts'],
  ...[
    'test/services/contract-preload.ts',
    'test/services/kill-preload.ts',
    'test/services/kill-before-row.ts',
  ],
];
/** What tests start. */
const scripts = ['test/services/hold-values.ts', 'test/services/stream-growth.ts'];
/** What they run as it is. */
const plainPrograms = ['common/engine/engine-program.mjs', 'gateway/images/picture-program.mjs'];
const product = /^(?:cli|common|console|events|gateway|query|[\w-]+\.ts$)/;

/**
 * Bundles test files, and the programs that they start, to plain JavaScript. A process that compiles what it reads, or
 * reads 500 modules, takes twice as long to start (docs/decisions/030-tests.md).
 * @param files paths from the root of the repository
 * @returns a folder that lasts as long as this process: `tests` has the files, `programs` what servers are
 */
export async function buildTests(files: readonly string[]): Promise<string> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'sluice-tests-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const commands = readdirSync(join(root, 'cli')).filter((name) => name.endsWith('.ts'));
  await Promise.all([
    bundle(['main.ts', ...commands.map((name) => `cli/${name}`), ...programs], folder, 'programs'),
    bundle([...files, ...scripts], folder, 'tests'),
  ]);
  const built = join(folder, 'programs');
  copyFileSync(join(root, 'package.json'), join(built, 'package.json'));
  for (const program of plainPrograms) {
    mkdirSync(join(built, dirname(program)), { recursive: true });
    copyFileSync(join(root, program), join(built, program));
  }
  mkdirSync(join(built, 'console/web'), { recursive: true });
  symlinkSync(join(root, 'console/web/dist'), join(built, 'console/web/dist'));
  mkdirSync(join(built, 'client'), { recursive: true });
  symlinkSync(join(root, 'client/dist'), join(built, 'client/dist'));
  return folder;
}

async function bundle(entryPoints: readonly string[], folder: string, name: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: [...entryPoints],
    outdir: join(folder, name),
    outbase: root,
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: true,
    sourcesContent: false,
    keepNames: true,
    plugins: [placesIn(join(folder, 'programs'))],
  });
}

/** A module of the product is where it would be as a file of its own, and another one where its source is. */
function placesIn(built: string): Plugin {
  const placeOf = (path: string): string => {
    const name = relative(root, path);
    return product.test(name) ? join(built, name.replace(/ts$/, 'js')) : path;
  };
  return {
    name: 'places',
    setup({ onLoad }) {
      onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
        const place = placeOf(path);
        const contents = readFileSync(path, 'utf8')
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(place)))
          .replaceAll('import.meta.filename', JSON.stringify(place))
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(place).href));
        return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' };
      });
    },
  };
}
