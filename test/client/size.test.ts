import t from 'tap';
import { sizeOf } from '../../bench/client/sizes.ts';

const kilobyte = 1024;

t.test('a page pays for what it uses', async (t) => {
  const find = await sizeOf(['find']);
  t.ok(find.gzip <= 2 * kilobyte, `find alone: ${find.gzip} bytes`);
  const live = await sizeOf(['connect', 'space', 'text', 'number', 'live']);
  t.ok(live.gzip <= 3 * kilobyte, `live: ${live.gzip} bytes`);
  const all = await sizeOf();
  t.ok(all.gzip <= 9 * kilobyte, `everything: ${all.gzip} bytes`);
});
