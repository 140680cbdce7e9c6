import { readdirSync } from 'node:fs';

/** All unit tests in one process: to start one costs more than most of them take. */
const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts'));
for (const name of names.sort()) await import(`./${name}`);
