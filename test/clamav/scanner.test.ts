/** The client of clamd: verdicts of a real one, and what it does without. */
import t from 'tap';
import type { ScanOutcome } from '#gateway/scan/scan-outcome.ts';
import type { Scanner } from '#gateway/scan/scanner.ts';
import { badSignature, badText, scannerAt, startClamd, startFaultyScanner } from '../services/clamd.ts';

const megabyte = 1024 * 1024;
const clamd = await startClamd({ lines: ['StreamMaxLength 20M', 'AlertExceedsMax yes', 'MaxFileSize 10M'] });
t.teardown(() => clamd.stop());

const part = (...texts: (string | Buffer)[]) => {
  const chunks = texts.map((text) => Buffer.from(text));
  return { chunks, size: chunks.reduce((sum, { byteLength }) => sum + byteLength, 0) };
};
const zeros = (bytes: number) => Buffer.alloc(bytes, '0');

async function outcomeOf(scanner: Scanner, ...parts: ReturnType<typeof part>[]): Promise<ScanOutcome> {
  const scan = scanner.begin('ada');
  const last = parts.at(-1) ?? null;
  for (const one of parts.slice(0, -1)) void scan.update(one);
  return scan.end(last);
}

for (const [way, address] of [
  ['TCP', clamd.address],
  ['a socket file', { path: clamd.socket }],
] as const)
  t.test(`clamd over ${way} tells good files from bad ones`, async (t) => {
    const scanner = scannerAt(address);
    const bad = part('some text, ', badText, ', and more');
    t.same(await outcomeOf(scanner, part('hello')), { is: 'clean' });
    t.same(await outcomeOf(scanner, part('')), { is: 'clean' });
    t.same(await outcomeOf(scanner, bad), { is: 'found', signature: badSignature });
    t.same(await outcomeOf(scanner, part(zeros(3 * megabyte)), part(zeros(100)), part(badText)), {
      is: 'found',
      signature: badSignature,
    });
    const half = badText.length / 2;
    t.same(
      await outcomeOf(scanner, part(badText.slice(0, half)), part(badText.slice(half))),
      { is: 'found', signature: badSignature },
      'across two parts',
    );
    t.same(scanner.counts, { clean: 2, found: 3, too_large: 0, failed: 0, postponed: 0 });
    t.equal(scanner.isAway, false);
  });

t.test('a file beyond a limit of clamd, or of ours, is too large', async (t) => {
  const scanner = scannerAt(clamd.address);
  const parts = Array.from({ length: 30 }, () => part(zeros(megabyte)));
  t.same(await outcomeOf(scanner, ...parts), { is: 'too large' }, 'StreamMaxLength');
  t.same(await outcomeOf(scanner, ...parts.slice(0, 15)), { is: 'too large' }, 'MaxFileSize');
  const small = scannerAt(clamd.address, { maxBytes: 10 });
  t.same(await outcomeOf(small, part('eleven byte')), { is: 'too large' });
  t.same(await outcomeOf(small, part('eleven'), part(' '), part('bytes')), { is: 'too large' });
  t.equal(scanner.isAway, false);
});

t.test('bytes that are read are scanned, and a broken read is an error', async (t) => {
  const scanner = scannerAt(clamd.address);
  const { signal } = new AbortController();
  async function* read() {
    yield* [zeros(megabyte), Buffer.from(badText)];
  }
  t.same(await scanner.scan(read, { account: 'ada', size: 2 * megabyte, signal }), {
    is: 'found',
    signature: badSignature,
  });
  t.same(await scanner.scan(read, { account: 'ada', size: 1e12, signal }), { is: 'too large' });
  async function* broken() {
    yield zeros(10);
    throw new Error('the store is away');
  }
  await t.rejects(scanner.scan(broken, { account: 'ada', size: 20, signal }), { message: /store is away/ });
});

t.test('a scanner that was away is asked again after a while, by one file at a time', async (t) => {
  await clamd.kill();
  const messages: string[] = [];
  const scanner = scannerAt(clamd.address, {
    log: { info: () => messages.push('info'), warn: () => messages.push('warn') },
  });
  t.match(await outcomeOf(scanner, part('hello')), { is: 'failed' });
  t.equal(scanner.isAway, true);
  t.match(await outcomeOf(scanner, part('hello')), {
    is: 'failed',
    error: { message: 'the scanner is away' },
  });
  t.equal(messages.length, 1);
  await clamd.start();
  t.same(await outcomeOf(scannerAt(clamd.address), part('hello')), { is: 'clean' });
});

t.test('a scanner that hangs costs its deadlines once', async (t) => {
  const hangs = await startFaultyScanner(t, (socket) => socket.pause());
  const times = { stalled: 100, ping: 100, connect: 1000 };
  const scanner = scannerAt(hangs, { verdictTimeout: 200, times });
  t.match(await outcomeOf(scanner, part('hello')), {
    is: 'failed',
    error: { message: /clamd did not answer for 200 ms/ },
  });
  t.equal(scanner.isAway, true);
  const slow = scannerAt(hangs, { verdictTimeout: 200, times });
  t.match(await outcomeOf(slow, part(zeros(32 * megabyte)), part('end')), {
    is: 'failed',
    error: { message: /takes no bytes/ },
  });
});

t.test('one file that takes long is no sign that the scanner is away', async (t) => {
  const address = await startFaultyScanner(t, (socket, command) => {
    if (command === 'zPING') socket.end('PONG\0');
  });
  const scanner = scannerAt(address, { verdictTimeout: 100 });
  t.match(await outcomeOf(scanner, part('hello')), { is: 'failed' });
  t.equal(scanner.isAway, false);
});

t.test('a scanner that breaks off, or answers something else, has said nothing', async (t) => {
  const dies = await startFaultyScanner(t, (socket) => socket.destroy());
  t.match(await outcomeOf(scannerAt(dies), part(zeros(megabyte)), part(zeros(megabyte))), { is: 'failed' });
  const ends = await startFaultyScanner(t, (socket) => socket.end());
  t.match(await outcomeOf(scannerAt(ends), part('hello')), { is: 'failed' });
  for (const answer of [
    'stream: OK',
    'stream: okay\0',
    'COMMAND READ TIMED OUT\0',
    `${'x'.repeat(10_000)}`,
  ]) {
    const odd = await startFaultyScanner(t, (socket) => socket.end(answer));
    t.match(await outcomeOf(scannerAt(odd), part('hello')), { is: 'failed' }, answer.slice(0, 30));
  }
});

t.test('connections are limited, and an account leaves some to others', async (t) => {
  const held: (() => void)[] = [];
  const address = await startFaultyScanner(t, (socket) => {
    held.push(() => socket.end('stream: OK\0'));
  });
  const scanner = scannerAt(address, { connections: 4 });
  const many = Array.from({ length: 10 }, () => outcomeOf(scanner, part('a'), part('b')));
  const other = scanner.begin('eve');
  const others = other.update(part('c'));
  await others;
  const answered = other.end(null);
  while (held.length < 3) await new Promise(setImmediate);
  for (const release of held) release();
  const outcomes = (await Promise.all(many)).map(({ is }) => is);
  t.equal(outcomes.filter((is) => is === 'clean').length, 2, 'half of the connections');
  t.equal(outcomes.filter((is) => is === 'postponed').length, 8);
  t.same(await answered, { is: 'clean' });
});

t.test('a slow upload gives its connection back, and is read again later', async (t) => {
  const scanner = scannerAt(clamd.address, { connections: 1, times: { idle: 50 } });
  const slow = scanner.begin('ada');
  await slow.update(part('first'));
  while (scanner.inFlight === 1) await new Promise((resolve) => setTimeout(resolve, 10));
  t.same(await outcomeOf(scanner, part('hello')), { is: 'clean' });
  t.same(await slow.end(part('last')), { is: 'postponed' });
});

t.test('an upload that is given up frees its connection and its bytes', async (t) => {
  const hangs = await startFaultyScanner(t, (socket) => socket.pause());
  const scanner = scannerAt(hangs, { connections: 1 });
  const scan = scanner.begin('ada');
  const sent = scan.update(part(zeros(32 * megabyte)));
  scan.drop();
  await sent;
  t.equal(scanner.inFlight, 0);
});
