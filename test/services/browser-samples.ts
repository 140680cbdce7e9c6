import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '../..');

/** Headings of docs/uploads.md, and their samples for browsers. */
export async function browserSamples(): Promise<readonly (readonly [heading: string, code: string])[]> {
  const text = await readFile(join(root, 'docs/uploads.md'), 'utf8');
  return text
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [, code] = /^```js\n([\s\S]*?)^```$/m.exec(section) ?? [];
      return code === undefined ? [] : [[section.split('\n')[0] as string, code] as const];
    });
}

/** A page whose script sees the given variables, and the sample behind them. */
export async function bundledSample(code: string, folder: string, variables: string): Promise<string> {
  const imports = code.match(/^import .*$/gm) ?? [];
  const rest = code.replaceAll(/^import .*$/gm, '');
  const file = join(folder, 'sample.js');
  await writeFile(file, `${imports.join('\n')}\n${variables}\n${rest}`);
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: 'esm',
    logLevel: 'silent',
    nodePaths: [join(root, 'test/docs/node_modules'), join(root, 'node_modules')],
  });
  return outputFiles[0]?.text ?? '';
}
