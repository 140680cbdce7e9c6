/**
 * Writes dist/package.json, which maps `#kernel/...` and the other rooms to compiled files. The compiler keeps these names,
 * and Node reads the nearest package.json of a module.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const { name, version, type, imports } = JSON.parse(readFileSync('package.json', 'utf8'));
const compiled = Object.fromEntries(
  Object.entries(imports).map(([room, folder]) => [`${room}.ts`, `${folder}.js`]),
);
writeFileSync(
  'dist/package.json',
  `${JSON.stringify({ name, version, type, imports: compiled }, null, 2)}\n`,
);
