import t from 'tap';
import { InFlightWrites } from '#query/space/in-flight-writes.ts';
import { fakeRequest } from '../services/fake-request.ts';

/** A handler that enters a space and then does nothing until it is told to. */
function heldHandler(writes: InFlightWrites, space = 'space') {
  let end: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const request = fakeRequest();
  const done = writes.tracked(async () => {
    writes.enter(request, space);
    writes.enter(request, space);
    await held;
    return { status: 200 };
  })(request);
  return { end, done, request };
}

const isIdle = async (writes: InFlightWrites, space = 'space'): Promise<boolean> =>
  Promise.race([
    writes.idle(space, 1000).then(() => true),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 5)),
  ]);

t.test('idle waits for every write to the space, and only to it', async (t) => {
  const writes = new InFlightWrites();
  t.ok(await isIdle(writes));
  const one = heldHandler(writes);
  const two = heldHandler(writes);
  const idle = writes.idle('space', 1000);
  t.notOk(await isIdle(writes));
  t.ok(await isIdle(writes, 'elsewhere'));
  one.end();
  await one.done;
  t.notOk(await isIdle(writes));
  two.end();
  await two.done;
  await idle;
  t.ok(await isIdle(writes));
});

t.test('a handler that fails has ended', async (t) => {
  const writes = new InFlightWrites();
  const request = fakeRequest();
  const failing = writes.tracked(async () => {
    writes.enter(request, 'space');
    throw new Error('no');
  });
  await t.rejects(Promise.resolve(failing(request)), { message: 'no' });
  t.ok(await isIdle(writes));
});

t.test('a request that has its answer, or is not tracked, does not count', async (t) => {
  const writes = new InFlightWrites();
  const { end, done, request } = heldHandler(writes);
  end();
  await done;
  writes.enter(request, 'space');
  writes.enter(fakeRequest(), 'space');
  t.ok(await isIdle(writes));
});

t.test('nobody waits for ever', async (t) => {
  const writes = new InFlightWrites();
  const { end, done } = heldHandler(writes);
  await t.rejects(writes.idle('space', 5), { status: 503, code: 'overloaded' });
  end();
  await done;
});
