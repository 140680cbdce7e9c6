import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import t from 'tap';
import { variableNames } from '#kernel/config/read-config.ts';
import { limits, liveLimits } from '../../docs/generate/limits.ts';
import { limitsPage } from '../../docs/generate/limits-page.ts';
import { generatedPages } from '../../docs/generate/pages.ts';

t.test('pages that are made from the code are fresh', async (t) => {
  for (const { path, stored, text } of generatedPages()) {
    t.equal(stored, text, `docs/${basename(path)} is what npm run docs writes`);
  }
});

t.test('every variable that is read is on the page, with its default and range', async (t) => {
  const [page] = generatedPages();
  const rows = page?.text.matchAll(/^\| ([A-Z0-9_]+) \| /gm) ?? [];
  t.strictSame([...rows].map(([, name]) => name).sort(), [...variableNames].sort());
  t.match(page?.text, '| PORT | 8080 | 0 to 65535 | ');
  t.match(page?.text, '| LOG_LEVEL | info | fatal, error, warn, info, debug, trace, silent | ');
});

t.test('a limit that the code does not have is written anew', async (t) => {
  const rows = [
    ['api.md', limits, '| a file name | 1,000 characters |'],
    ['live.md', liveLimits, '| live queries of a process | LIVE_MAX_STREAMS, 10,000 |'],
  ] as const;
  for (const [name, current, row] of rows) {
    const page = await readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
    const other = page.replace(row, row.replace('0 |', '1 |').replace('characters |', 'bytes |'));
    t.not(other, page, name);
    t.equal(limitsPage(other, current), page, name);
  }
});

t.test('README shows no variable that there is not', async (t) => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  for (const [, names = ''] of readme.matchAll(/^\| ([A-Z0-9_]+(?:, [A-Z0-9_]+)*) \| /gm)) {
    for (const name of names.split(', ')) t.ok(variableNames.has(name), name);
  }
});
