/**
 * Reduces package.json to what the image needs: no embedded engine, no fallback argon2, and of the development dependencies
 * only the compiler and what builds the dashboard's web app, which are removed after the build. The lock file stays, so
 * versions and hashes are the tested ones.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const own = JSON.parse(readFileSync('package.json', 'utf8'));
/** Everything that only the build needs. */
const ofTheBuild = new Set(['typescript', 'tsx', 'esbuild', 'preact', '@preact/signals']);
const split = (list, wanted) =>
  Object.fromEntries(Object.entries(list).filter(([name]) => ofTheBuild.has(name) === wanted));
const { argon2: _second, ...dependencies } = split(own.dependencies, false);
const { chdb: _engine, ...optionalDependencies } = own.optionalDependencies;
const devDependencies = split({ ...own.dependencies, ...own.devDependencies }, true);
const trimmed = { ...own, dependencies, optionalDependencies, devDependencies };
writeFileSync('package.json', `${JSON.stringify(trimmed, null, 2)}\n`);
