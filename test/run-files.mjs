/**
 * `node run-files.mjs FOLDER FILE...` runs test files that are built in the folder (test/build.ts): several in one process
 * one after the other, each with its own teardown.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, ...files] = process.argv.splice(1).slice(1);
const load = (file) => import(pathToFileURL(join(folder, file.replace(/ts$/, 'js'))).href);
// tap names folders by the arguments: they have to differ between processes, and to be short
process.argv.push(files[0]);
let used = 0;
// its servers have ended by then
process.once('exit', () => printCpu(files.at(-1)));
if (files.length === 1) await load(files[0]);
else await runAll();

async function runAll() {
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
    await load(file);
    await Promise.allSettled(tests);
    for (const end of ends) await end();
    if (file !== files.at(-1)) printCpu(file);
    tests = [];
    ends = [];
  }
  // nothing that one of them left holds up the result of the others
  teardown.call(t, () => setTimeout(() => process.exit(), 1000).unref());
  t.end();
}

/** Seconds of CPU since the last time, of this process and of those that it has seen end. */
function printCpu(file) {
  if (process.env.SLUICE_TEST_CPU === undefined) return;
  const [, fields] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const ticks = fields.split(' ').slice(11, 15);
  const now = ticks.reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  console.error(`# cpu=${(now - used).toFixed(2)} ${file}`);
  used = now;
}
