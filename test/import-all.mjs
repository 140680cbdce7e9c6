/** `node import-all.mjs FILE...` runs test files in one process, one after the other. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';

const begin = t.test;
const tests = [];
t.test = (...given) => {
  const test = begin.apply(t, given);
  tests.push(test);
  return test;
};
for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href);
await Promise.allSettled(tests);
// nothing that one of them left holds up the result of the others
t.teardown(() => setTimeout(() => process.exit(), 1000).unref());
t.end();
