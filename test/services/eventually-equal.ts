import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

const limit = 30_000;

/** What a page shows follows an answer a little later: asserts what is read once it is as wanted, or after 30 s. */
export async function eventuallyEqual<Value>(
  t: Test,
  read: () => Value | Promise<Value>,
  wanted: Value,
  message = 'what it comes to',
): Promise<void> {
  const deadline = performance.now() + limit;
  const text = JSON.stringify(wanted);
  let value = await read();
  while (JSON.stringify(value) !== text && performance.now() < deadline) {
    await sleep(20);
    value = await read();
  }
  t.strictSame(value, wanted, message);
}
