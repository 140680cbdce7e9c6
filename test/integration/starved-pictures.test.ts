import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import t from 'tap';
import { picturesOf } from '../services/pictures-of.ts';

/** Of sched(7). */
const idlePolicy = '5';

const policyOf = async (pid: number): Promise<string | undefined> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // proc_pid_stat(5): the 41st field, and the second may have spaces
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[38];
};

t.test('a process that gets no core is replaced by one that takes a share', async (t) => {
  const { put, picture, pids, maker } = await picturesOf(t);
  const bytes = await sharp({ create: { width: 60, height: 60, channels: 3, background: '#135' } })
    .png()
    .toBuffer();
  await picture(await put('a.png', bytes), 'thumb');
  const [starved = 0] = await pids();
  t.equal(await policyOf(starved), idlePolicy, 'requests go first');
  // as if others wanted all cores
  process.kill(starved, 'SIGSTOP');
  await picture(await put('b.png', bytes), 'thumb');
  const [next = 0, ...more] = (await pids()).filter((pid) => pid !== starved);
  t.strictSame(more, []);
  t.not(await policyOf(next), idlePolicy);
  t.match(maker.counts, { made: 2, failed: 0 });
});
