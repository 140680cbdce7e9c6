import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { startEnvironment } from '../../bench/upload/harness/start-environment.ts';

const root = join(import.meta.dirname, '../..');

t.test('every way to start sets the same for libuv and malloc', async (t) => {
  const read = (path: string) => readFile(join(root, path), 'utf8');
  const environment = startEnvironment();
  t.match(Object.keys(environment), ['UV_THREADPOOL_SIZE', 'MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_']);
  const pairs = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
  for (const name of ['start', 'gateway', 'query', 'console']) {
    t.ok(scripts[name]?.startsWith(`${pairs.join(' ')} exec node `), `npm run ${name}`);
  }
  t.ok((await read('cli/sluice.ts')).startsWith(`#!/usr/bin/env -S ${pairs.join(' ')} node\n`), 'sluice');
  t.match(await read('Dockerfile'), ` ${pairs.join(' ')} `, 'the image');
});

/**
 * Large bodies that come and go among small buffers that stay. Alone, glibc keeps what is below 32 MiB in its heap once
 * such a buffer was freed, and the heap can't shrink while anything stays behind it.
 */
const program = `
  const bodies = [];
  const kept = [];
  const collected = async () => {
    bodies.length = 0;
    gc();
    await new Promise((resolve) => setTimeout(resolve, 50));
    gc();
  };
  bodies.push(Buffer.allocUnsafeSlow(30 * 2 ** 20).fill(1));
  await collected();
  for (let i = 0; i < 20; i++) {
    bodies.push(Buffer.allocUnsafeSlow(8 * 2 ** 20).fill(1));
    kept.push(Buffer.allocUnsafeSlow(16 * 1024).fill(1));
  }
  await collected();
  process.stdout.write(String(Math.round(process.memoryUsage.rss() / 2 ** 20)));
`;

t.test(
  'memory of large bodies goes back to the system',
  { skip: process.platform !== 'linux' && 'of glibc' },
  async (t) => {
    const args = ['--expose-gc', '--input-type=module', '--eval', program];
    const run = promisify(execFile);
    const resident = async (env: Record<string, string>): Promise<number> => {
      const { stdout } = await run(process.execPath, args, { env: { PATH: process.env.PATH ?? '', ...env } });
      return Number(stdout);
    };
    const [before, after] = [await resident({}), await resident(startEnvironment())];
    t.ok(after < before - 80, `${after} MiB, not ${before}`);
  },
);
