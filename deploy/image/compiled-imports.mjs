/**
 * Writes dist/package.json: what `#kernel/...` and the other names of rooms stand for among compiled files. Node reads the
 * package.json that is nearest to a module, and the compiler leaves such names as they are.
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
