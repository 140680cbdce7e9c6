/** `node import-all.mjs FILE...` runs test files in one process, one after the other, each with its own teardown. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// tap names folders by the arguments: they have to differ between processes, and to be short
const files = process.argv.splice(2);
process.argv.push(files[0]);
const { default: t } = await import('tap');

const begin = t.test;
let tests = [];
let ends = [];
t.test = (...given) => {
  const test = begin.apply(t, given);
  tests.push(test);
  return test;
};
const { teardown } = t;
t.teardown = (end) => ends.unshift(end);
for (const file of files) {
  await import(pathToFileURL(resolve(file)).href);
  await Promise.allSettled(tests);
  for (const end of ends) await end();
  tests = [];
  ends = [];
}
// nothing that one of them left holds up the result of the others
teardown.call(t, () => setTimeout(() => process.exit(), 1000).unref());
t.end();
