import t from 'tap';
import { OpenUploads, type UploadNews } from '../../common/lifecycle/workers/open-uploads.ts';
import { createRunningUploads } from '../../common/lifecycle/workers/running-uploads.ts';

t.test('what is begun is told at once, and what has ended with the next news', async (t) => {
  const news: UploadNews[] = [];
  const running = createRunningUploads((told, sent) => {
    news.push(told);
    sent();
  });
  const [a, b, c] = [{}, {}, {}];
  running.begin(a, 'key a');
  t.strictSame(news, [{ begun: ['key a'], ended: [] }]);
  running.begin(b, 'key b');
  running.end(a);
  t.equal(running.open, 1);
  t.equal(news.length, 2, 'an end is no hurry');
  running.begin(c, 'key c');
  t.strictSame(news[2], { begun: ['key c'], ended: ['key a'] });
  running.end(b);
  running.end(c);
  running.end(c);
  running.end({});
  while (news.length < 4) await new Promise((resolve) => setTimeout(resolve, 20));
  t.strictSame(news[3], { begun: [], ended: ['key b', 'key c'] }, 'but does not wait for ever');
});

t.test('news that nobody takes are bounded, and counted', async (t) => {
  let told = 0;
  const running = createRunningUploads(() => {
    told++;
  });
  for (let i = 0; i < 1500; i++) running.begin({}, `key ${i}`);
  t.equal(told, 1000);
  t.equal(running.unreported, 500);
  t.equal(running.open, 1500);
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

t.test('the supervisor remembers what is open, up to a bound', async (t) => {
  const open = new OpenUploads();
  open.note({ begun: ['a', 'b'], ended: [] });
  open.note({ begun: ['c'], ended: ['a', 'unknown'] });
  t.strictSame(open.take(), ['b', 'c']);
  t.equal(open.size, 0);
  open.note({ begun: Array.from({ length: 100_001 }, (_, i) => `${i}`), ended: [] });
  t.equal(open.size, 100_000);
});
