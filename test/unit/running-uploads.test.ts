import t from 'tap';
import { createRunningUploads } from '#process/lifecycle/workers/running-uploads.ts';

t.test('uploads are open from their beginning to their end', async (t) => {
  const running = createRunningUploads();
  const [a, b] = [{}, {}];
  running.begin(a, 'key a');
  running.begin(b, 'key b');
  t.strictSame(running.openKeys, ['key a', 'key b']);
  running.end(a);
  running.end(a);
  running.end({});
  t.equal(running.open, 1);
  t.strictSame(running.openKeys, ['key b']);
});

t.test('a stop waits until no upload is open', async (t) => {
  const running = createRunningUploads();
  t.equal(await running.untilIdle(0), true);
  const upload = {};
  running.begin(upload, 'key');
  t.equal(await running.untilIdle(10), false);
  const idle = running.untilIdle(60_000);
  running.end(upload);
  t.equal(await idle, true);
});
