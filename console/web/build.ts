/**
 * Builds the web app into console/web/dist: index.html, and its scripts and styles under names that carry their hash,
 * each also gzipped. `npm run build:console` runs it, and so does `npm ci` (the script `prepare`).
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** The limit of a first visit on the wire. */
const budgetBytes = 120 * 1024;
const source = fileURLToPath(new URL('.', import.meta.url));
const target = join(source, 'dist');
const next = join(source, `dist-${process.pid}`);

/** Where index.html names each entry point. */
const entries = { 'theme-start': 'theme-start.ts', main: 'main.tsx', style: 'style.css' };

async function buildAssets(): Promise<Map<string, string>> {
  const { metafile } = await build({
    absWorkingDir: source,
    entryPoints: Object.entries(entries).map(([out, file]) => ({ in: file, out })),
    outdir: join(next, 'assets'),
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    // light-dark() in the styles, and <dialog>, need these anyway
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    metafile: true,
    logLevel: 'warning',
  });
  const names = new Map<string, string>();
  for (const [path, output] of Object.entries(metafile.outputs)) {
    const name = Object.entries(entries).find(([, file]) => file === output.entryPoint)?.[0];
    if (name !== undefined) names.set(name, path.slice(path.lastIndexOf('/') + 1));
  }
  return names;
}

async function writePage(names: ReadonlyMap<string, string>): Promise<void> {
  const template = await readFile(join(source, 'index.html'), 'utf8');
  const page = template.replace(/\{\{([a-z-]+)\}\}/g, (_, name: string) => {
    const file = names.get(name);
    if (file === undefined) throw new Error(`index.html names ${name}, which is not built`);
    return `/_console_/assets/${file}`;
  });
  await writeFile(join(next, 'index.html'), page);
}

/** Writes FILE.gz beside each file. @returns the sum of the compressed sizes */
async function compress(files: readonly string[]): Promise<number> {
  let sum = 0;
  for (const file of files) {
    const plain = await readFile(join(next, file));
    const packed = gzipSync(plain, { level: 9 });
    await writeFile(join(next, `${file}.gz`), packed);
    console.log(`${file}: ${plain.byteLength} bytes, ${packed.byteLength} gzipped`);
    sum += packed.byteLength;
  }
  return sum;
}

await mkdir(next, { recursive: true });
try {
  const names = await buildAssets();
  await writePage(names);
  const sum = await compress(['index.html', ...[...names.values()].map((name) => `assets/${name}`)]);
  console.log(`together: ${sum} bytes gzipped, of ${budgetBytes} at most`);
  if (sum > budgetBytes) throw new Error('the web app is too large');
  await rm(target, { recursive: true, force: true });
  await rename(next, target);
} finally {
  await rm(next, { recursive: true, force: true });
}
