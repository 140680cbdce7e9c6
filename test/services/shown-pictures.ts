import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Names of the pictures in docs/images that README.md and the pages of docs/ show. */
export function shownPictures(): ReadonlySet<string> {
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  const paths = ['README.md', ...pages.map((name) => `docs/${name}`)];
  const text = paths.map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
  return new Set([...text.matchAll(/\((?:docs\/)?images\/([\w-]+\.png)\)/g)].map(([, name = '']) => name));
}
