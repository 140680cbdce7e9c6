import t from 'tap';
import { SlabPool, slabBytes } from '#gateway/memory/slab-pool.ts';

const MiB = 1024 * 1024;

t.test('what a burst took is given back when it is over', async (t) => {
  const pool = new SlabPool();
  const slabs = Array.from({ length: (100 * MiB) / slabBytes }, () => pool.take());
  const taken = pool.bytes;
  t.ok(taken >= 100 * MiB && taken < 140 * MiB);
  for (const slab of slabs.slice(1)) pool.give(slab);
  pool.trim();
  t.equal(pool.bytes, taken, 'the next burst may follow at once');
  pool.trim();
  t.ok(pool.bytes < 34 * MiB, 'one block is in use');
  pool.give(slabs[0] as Buffer);
  pool.trim();
  pool.trim();
  t.equal(pool.bytes, 0);
  t.ok(
    slabs.every(({ byteLength }) => byteLength === 0),
    'their memory is gone, and not only when the garbage collector comes',
  );
});

t.test('slabs that are few lie together', async (t) => {
  const pool = new SlabPool();
  const slabs = Array.from({ length: 1200 }, () => pool.take());
  for (const slab of slabs) pool.give(slab);
  const few = Array.from({ length: 500 }, () => pool.take());
  t.equal(new Set(few.map(({ buffer }) => buffer)).size, 1);
});

t.test('slabs in use stay what they are, whatever goes back around them', async (t) => {
  const pool = new SlabPool();
  const slabs = Array.from({ length: 1539 }, (_, index) => pool.take().fill(index & 0xff));
  const kept = slabs.filter((_, index) => index % 600 === 0);
  for (const slab of slabs) if (!kept.includes(slab)) pool.give(slab);
  for (let i = 0; i < 3; i++) pool.trim();
  for (const [index, slab] of slabs.entries()) {
    if (kept.includes(slab)) t.ok(slab.equals(Buffer.alloc(slabBytes, index & 0xff)));
  }
});
