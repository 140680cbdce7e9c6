import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';

const module = join(import.meta.dirname, '../../common/process/lifecycle/bound-heap-growth.ts');

/** Objects that live long enough to leave the young generation, and are garbage then, beside some 40 MB that stay. */
const program = `
  const [bounded, path] = process.argv.slice(1);
  if (bounded === 'true') (await import(path)).boundHeapGrowth();
  const stays = Array.from({ length: 400_000 }, (_, i) => ({ i, text: 'x' + i }));
  const passes = new Array(200_000);
  let largest = 0;
  for (let i = 0; i < 6_000_000; i++) {
    passes[i % passes.length] = { i, text: 'y' + i };
    if (i % 100_000 === 0) largest = Math.max(largest, process.memoryUsage().heapTotal);
  }
  process.stdout.write(String(Math.round(largest / 2 ** 20)) + (stays.length > 0 ? '' : '-'));
`;

t.test('garbage is collected before it is most of the heap', async (t) => {
  const largest = async (bounded: boolean): Promise<number> => {
    // V8 lets small heaps grow less: this is its limit on machines with 4 GiB and more
    const flags = ['--max-old-space-size=2048', '--import', 'tsx', '--input-type=module'];
    const args = [...flags, '--eval', program, String(bounded), module];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return Number(stdout);
  };
  const [before, after] = [await largest(false), await largest(true)];
  t.ok(after < before * 0.8, `${after} MiB, not ${before}`);
});
