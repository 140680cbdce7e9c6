/**
 * The program of an EngineProcess (engine-process.ts). It is JavaScript, because a TypeScript loader takes longer to start
 * than the engine.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [, , folder, settings, missing] = process.argv;

// when memory is short, the kernel kills this process rather than the server
try {
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {}

/** @type {import('chdb')} */
let chdb;
try {
  chdb = createRequire(import.meta.url)('chdb');
} catch {
  process.exit(Number(missing));
}
const session = new chdb.Session(folder);
session.query(`SET ${settings}`);

// the engine catches these signals and hangs for minutes; adding and removing a listener restores the kernel's default
for (const signal of ['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS']) {
  const listener = () => {};
  process.on(signal, listener);
  process.off(signal, listener);
}

process.on('disconnect', () => process.exit());
process.on('message', async ({ sql, format, isStream }) => {
  try {
    if (!isStream) {
      process.send({ text: (await session.queryAsync(sql, { format })).text() });
      return;
    }
    for await (const chunk of session.queryStream(sql, { format }))
      if (!process.stdout.write(chunk.raw())) await once(process.stdout, 'drain');
    process.stdout.end(() => process.send({ text: '' }));
  } catch (error) {
    process.send({ problem: String(error.message) });
    process.stdout.end();
  }
});
