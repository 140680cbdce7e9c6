/**
 * The pages as the house style has them (CONTRIBUTING.md): lines of 100 characters, links that lead somewhere; and paths
 * in comments, which nothing else checks.
 */
import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const rooms = ['kernel', 'coordination', 'engine', 'objects', 'server', 'catalogue', 'auth', 'process'];
const folders = [
  ...['.', 'client', 'docs', 'docs/decisions', 'bench', 'deploy/kubernetes'],
  ...['query/records', 'query/records/unique', 'query/records/store-embedded'],
  ...rooms.map((room) => `common/${room}`),
];
// its lines are entries, one each
const unwrapped = ['CHANGELOG.md', 'client/CHANGELOG.md'];
const pages = (
  await Promise.all(
    folders.map(async (folder) => (await readdir(join(root, folder))).map((name) => join(folder, name))),
  )
)
  .flat()
  .filter((path) => path.endsWith('.md') && !unwrapped.includes(path));

/** Without code, tables, comments and lines that are one long link. */
function proseOf(text: string): string[] {
  const lines = text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '').split('\n');
  return lines.filter((line) => !/^(?:\||#|<!--| {4}|\s*\S+$)/.test(line));
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

t.test('prose is wrapped at 100 characters', async (t) => {
  t.ok(pages.length > 40);
  for (const page of pages) {
    const long = proseOf(await readFile(join(root, page), 'utf8')).filter((line) => line.length > 100);
    t.strictSame(long, [], page);
  }
});

t.test('links lead to files and headings that there are', async (t) => {
  for (const page of pages) {
    const text = await readFile(join(root, page), 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? join(root, page) : join(root, dirname(page), path);
      await t.resolves(access(file), `${page}: ${target}`);
      if (anchor === undefined) continue;
      const headings = (await readFile(file, 'utf8')).matchAll(/^#+ (.*)$/gm);
      const anchors = [...headings].map(([, heading = '']) => anchorOf(heading));
      t.ok(anchors.includes(anchor), `${page}: ${target}`);
    }
  }
});

t.test('the index of decisions has a line for each, with its title and status', async (t) => {
  const folder = join(root, 'docs/decisions');
  const names = (await readdir(folder)).filter((name) => /^\d{3}-/.test(name)).sort();
  const lines = names.map(async (name) => {
    const text = await readFile(join(folder, name), 'utf8');
    const [, number, title] = /^# (\d{3}) (.+)\n/.exec(text) ?? [];
    const [, part, by] = /^.+\n\nSuperseded( in part)? by (\[\d{3}\]\(.+?\))/.exec(text) ?? [];
    const status =
      by === undefined ? 'in force' : part === undefined ? `superseded by ${by}` : `in part, see ${by}`;
    return `| [${number}](${name}) | ${title} | ${status} |`;
  });
  const index = await readFile(join(folder, 'README.md'), 'utf8');
  t.strictSame(index.match(/^\| \[.*$/gm), await Promise.all(lines));
});

t.test('CONTRIBUTING.md names files that there are', async (t) => {
  const text = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
  const roots = 'bench|client|common|console|deploy|docs|events|gateway|query|test';
  const named = [...text.matchAll(new RegExp(`\\b(?:${roots})/[\\w./-]*\\w`, 'g'))].map(([path]) => path);
  t.ok(named.length > 50);
  for (const path of new Set(named)) await t.resolves(access(join(root, path)), path);
});

/** Paths from the root: of sources and pages, and of folders of the rooms that services are made of. */
const named = new RegExp(
  '(?<![\\w./@#$:<>{}*-])(?:(?:common|events|gateway|query)/[\\w./-]*\\w|' +
    '(?:bench|cli|client|console|deploy|docs|findings|test)/[\\w./-]*\\w\\.(?:tsx?|mjs|md)\\b)',
  'g',
);
const comment = /^\s*\/\*[\s\S]*?\*\/|(?:^|\s)\/\/ .*$/gm;

t.test('comments and pages name files and folders that there are', async (t) => {
  const tops = ['bench', 'cli', 'client', 'common', 'console', 'deploy', 'docs'];
  tops.push('events', 'findings', 'gateway', 'query', 'test');
  const lists = tops.map(async (top) =>
    (await readdir(join(root, top), { recursive: true })).map((name) => join(top, name)),
  );
  const files = (await Promise.all(lists)).flat().filter((path) => !/\/(?:node_modules|dist)\//.test(path));
  const known = new Set(files);
  const sources = files.filter((path) => /\.(?:tsx?|mjs)$/.test(path));
  let count = 0;
  for (const path of [...pages, ...sources]) {
    const text = await readFile(join(root, path), 'utf8');
    const prose = path.endsWith('.md') ? text : (text.match(comment) ?? []).join('\n');
    const paths = prose.replaceAll(/https?:\S+/g, '').match(named) ?? [];
    count += paths.length;
    // a page of bench/ names its own from there; a path may be cut off, as docs/decisions/005
    const isThere = (one: string): boolean =>
      known.has(join(dirname(path), one)) || files.some((file) => file.startsWith(one));
    const wrong = paths.filter((one) => !isThere(one));
    t.strictSame(wrong, [], path);
  }
  t.ok(count > 300);
});
