import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { type Body, RestThenBody } from '#gateway/resumable/rest-then-body.ts';

const nothing: Body = { contentLength: 0, consume: (sink) => sink.end(), resume() {} };

t.test('what reads the bytes before lets go of them when nobody takes more', async (t) => {
  let closed = 0;
  async function* chunks() {
    try {
      for (;;) yield Buffer.alloc(1);
    } finally {
      closed++;
    }
  }
  const body = new RestThenBody({ bytes: 10, chunks: chunks() }, nothing);
  let taken = 0;
  // as an upload that fails, and takes nothing from then on
  body.consume({
    write() {
      taken++;
      return false;
    },
    end: () => t.fail('it is not over'),
    fail: (error) => t.fail(String(error)),
  });
  await setImmediate();
  t.equal(closed, 0);
  body.close();
  await setImmediate();
  t.equal(closed, 1);
  t.equal(taken, 1);
});
