/** Removes from node_modules what never runs in the image: other platforms' binaries, types and source maps. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const server = join('node_modules', 'uWebSockets.js');
const binary = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
// source_commit names the upstream of the binary; the licence stays with it
const kept = new Set([binary, 'uws.js', 'ESM_wrapper.mjs', 'package.json', 'LICENSE', 'source_commit']);
const found = readdirSync(server);
if (!found.includes(binary)) throw new Error(`uWebSockets.js has no ${binary}`);
for (const name of found) {
  if (!kept.has(name)) rmSync(join(server, name), { recursive: true });
}

const unused = /\.(?:d\.[cm]?ts|map|md|markdown|tsbuildinfo)$/i;
for (const entry of readdirSync('node_modules', { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath ?? entry.path, entry.name);
  if (entry.isDirectory() && entry.name === 'dist-types') rmSync(path, { recursive: true, force: true });
  else if (entry.isFile() && unused.test(entry.name)) rmSync(path, { force: true });
}
rmSync(join('node_modules', '.package-lock.json'), { force: true });
rmSync(join('node_modules', '.bin'), { recursive: true, force: true });
// npm leaves the empty folder of a scope behind
for (const name of readdirSync('node_modules')) {
  const scope = join('node_modules', name);
  if (name.startsWith('@') && readdirSync(scope).length === 0) rmSync(scope, { recursive: true });
}
