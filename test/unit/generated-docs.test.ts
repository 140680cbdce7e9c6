import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import t from 'tap';
import { variableNames } from '../../common/config/read-config.ts';
import { generatedPages } from '../../docs/generate/pages.ts';
import { knownVariables, ofTheRuntime } from '../services/known-variables.ts';

t.test('pages that are made from the code are fresh', async (t) => {
  for (const { path, text } of generatedPages()) {
    const stored = await readFile(path, 'utf8').catch(() => '');
    t.equal(stored, text, `docs/${basename(path)} is what npm run docs writes`);
  }
});

t.test('every variable that is read is on the page, with its default and range', async (t) => {
  const [page] = generatedPages();
  for (const name of knownVariables()) {
    if (!ofTheRuntime.includes(name)) t.match(page?.text, `| ${name} | `);
  }
  t.match(page?.text, '| PORT | 8080 | 0 to 65535 | ');
  t.match(page?.text, '| LOG_LEVEL | info | fatal, error, warn, info, debug, trace, silent | ');
  t.ok(variableNames.has('REDIS_SENTINEL_PASSWORD'), 'also those that hang on others');
});

t.test('README shows no variable that there is not', async (t) => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  for (const [, names = ''] of readme.matchAll(/^\| ([A-Z0-9_]+(?:, [A-Z0-9_]+)*) \| /gm)) {
    for (const name of names.split(', ')) t.ok(variableNames.has(name), name);
  }
});
