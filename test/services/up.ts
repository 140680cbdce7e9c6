import { startCeph } from './ceph.ts';

/** `node --import tsx test/services/up.ts`: real services for tests on loopback, until Ctrl-C. */
const asked = new AbortController();
// the handlers stay: a second Ctrl-C must not end this before the services have stopped
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => asked.abort());

const ceph = await startCeph({
  onLog: (text) => void process.stderr.write(text),
  signal: asked.signal,
}).catch((error: Error) => {
  process.stderr.write(asked.signal.aborted ? 'Stopped.\n' : `${error.message}\n`);
  process.exit(1);
});
for (const [name, value] of Object.entries(ceph.env)) process.stdout.write(`export ${name}=${value}\n`);
process.stderr.write('Services are up. Ctrl-C stops them.\n');

// signal handlers alone don't keep a process alive
const alive = setInterval(() => {}, 2 ** 30);
if (!asked.signal.aborted) {
  await new Promise((resolve) => asked.signal.addEventListener('abort', resolve, { once: true }));
}
clearInterval(alive);
await ceph.stop();
