/**
 * Leaves in package.json what the image needs: no embedded engine, and of the development dependencies only the compiler
 * and what builds the dashboard's web app, which go when that is done. The lock file stays, so every version and hash is the one that was tested.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const own = JSON.parse(readFileSync('package.json', 'utf8'));
/** Everything that only a build needs, wherever it stands. */
const ofTheBuild = new Set(['typescript', 'tsx', 'esbuild', 'preact', '@preact/signals']);
const split = (list, wanted) =>
  Object.fromEntries(Object.entries(list).filter(([name]) => ofTheBuild.has(name) === wanted));
const dependencies = split(own.dependencies, false);
const { chdb: _engine, ...optionalDependencies } = own.optionalDependencies;
const devDependencies = split({ ...own.dependencies, ...own.devDependencies }, true);
const trimmed = { ...own, dependencies, optionalDependencies, devDependencies };
writeFileSync('package.json', `${JSON.stringify(trimmed, null, 2)}\n`);
