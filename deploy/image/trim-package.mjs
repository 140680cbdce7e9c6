/**
 * Leaves in package.json what the image needs: no embedded engine, no TypeScript runner, no second argon2 (the first is
 * installed there), and of the development dependencies only the compiler. The lock file stays, so every version and hash
 * is the one that was tested.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const own = JSON.parse(readFileSync('package.json', 'utf8'));
const { tsx: _runner, argon2: _second, ...dependencies } = own.dependencies;
const { chdb: _engine, ...optionalDependencies } = own.optionalDependencies;
const { typescript } = own.devDependencies;
const trimmed = { ...own, dependencies, optionalDependencies, devDependencies: { typescript } };
writeFileSync('package.json', `${JSON.stringify(trimmed, null, 2)}\n`);
