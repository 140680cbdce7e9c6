import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { type RunOptions, run } from '../../load/main.ts';
import { parseMix } from '../../load/mix/read-mix.ts';
import { decodeHistogram } from '../../load/run/histogram.ts';
import type { Latency } from '../../load/run/result.ts';

async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`;
}

const numbered = parseMix('numbered.json', '{"requests": [{"kind": "request", "path": "/{number}"}]}');

function load(url: string, options: Partial<RunOptions>) {
  const target = { kind: 'http', url, credential: 'secret', options: {} } as const;
  return run({ mix: numbered, target, workers: 1, ...options });
}

/** How many took at least that long. */
function atLeast({ histogram }: Latency, milliseconds: number): number {
  const decoded = decodeHistogram(histogram);
  let [low, high] = [0, decoded.totalCount];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const percent = 100 * (1 - (middle - 0.5) / decoded.totalCount);
    if (decoded.getValueAtPercentile(percent) >= milliseconds * 1000) low = middle;
    else high = middle - 1;
  }
  return low;
}

t.test('an open loop sends each number once, when its time has come, from all workers', async (t) => {
  const paths: string[] = [];
  const url = await serve(t, (request, response) => {
    t.equal(request.headers.authorization, 'Bearer secret');
    paths.push(request.url as string);
    response.end('right');
  });
  const began = performance.now();
  const result = await load(url, { rate: 150, seconds: 2, workers: 2 });
  t.ok(performance.now() - began >= 1990, 'not before its time');
  t.strictSame(new Set(paths), new Set(Array.from({ length: 300 }, (_, number) => `/base/${number}`)));
  t.equal(paths.length, 300);
  t.match(result.totals, { sent: 300, good: 300, failed: 0, codes: {}, perSecond: 150 });
  t.match(result.requests, [{ name: 'request', kind: 'request', sent: 300 }]);
  t.match(result.phases, [{ name: 'load', counts: true, offeredRate: 150, good: 300 }]);
  t.equal(
    result.windows.reduce((sum, { good }) => sum + good, 0),
    300,
  );
  t.ok(result.totals.receivedBytes > 300 * 100);
  t.ok(result.cost.tool.cpu > 0 && result.cost.tool.memory > 0);
  t.notMatch(JSON.stringify(result), /secret/);
});

/** Answers at once, but from the request with this number on for a second not at all. */
function stallingAt(number: number): RequestListener {
  let count = 0;
  let held: (() => void)[] | null = null;
  return (_, response) => {
    const answer = (): void => void response.end('right');
    if (++count === number) {
      held = [];
      setTimeout(() => {
        for (const one of held ?? []) one();
        held = null;
      }, 1000);
    }
    if (held === null) answer();
    else held.push(answer);
  };
}

t.test('a server that stalls: an open loop shows the waits, and a closed one hides them', async (t) => {
  const open = await load(await serve(t, stallingAt(51)), { rate: 100, seconds: 2 });
  t.equal(open.totals.good, 200);
  // request 51 waits a second, and those that were to start in the half second after it at least another half
  t.ok(atLeast(open.totals.latency, 950) >= 1);
  t.ok(atLeast(open.totals.latency, 490) >= 50, `${atLeast(open.totals.latency, 490)} waited half a second`);
  t.ok(open.totals.latency.p90 >= 490, 'a quarter of the requests waited that long');
  t.ok(open.totals.latency.p99 >= open.totals.serviceTime.p50);

  const closed = await load(await serve(t, stallingAt(11)), { concurrency: 2, seconds: 2, workers: 2 });
  t.ok(atLeast(closed.totals.latency, 900) >= 1);
  t.ok(atLeast(closed.totals.latency, 900) <= 2, 'as many as there are callers');
});

t.test('what was to start and could not counts, with the time that it waited', async (t) => {
  const url = await serve(t, () => {});
  const result = await load(url, { rate: 50, seconds: 1, inFlight: 4, timeout: 1500, workers: 1 });
  t.match(result.totals, { sent: 4, good: 0, failed: 50, codes: { timeout: 4, not_started: 46 } });
  // those of the first half
  t.ok(atLeast(result.totals.latency, 490) >= 25);
  // a busy machine adds another
  t.ok(result.warnings.some((text) => text.startsWith('Requests waited because 4 were under way already')));
});

t.test('words of refusal: statuses, no connection', async (t) => {
  let count = 0;
  const url = await serve(t, (request, response) => {
    count++;
    if (count % 4 === 0) request.socket.destroy();
    else response.writeHead(count % 2 === 0 ? 503 : 200).end();
  });
  const result = await load(url, { rate: 100, seconds: 1, workers: 1 });
  t.match(result.totals, { sent: 100, good: 50, failed: 50, codes: { 503: 25, ECONNRESET: 25 } });
});

t.test('a server that goes away', async (t) => {
  const server = createServer((_, response) => {
    response.end();
    server.close();
    server.closeAllConnections();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // the first connection is the one that looks whether it is there
  const { totals } = await load(url, { rate: 20, seconds: 1 });
  t.equal(totals.sent, 20);
  t.ok((totals.codes.ECONNREFUSED ?? 0) >= 15, JSON.stringify(totals.codes));
});

t.test('a rate below one a second, for less time than a request takes to be due', async (t) => {
  const url = await serve(t, (_, response) => response.end());
  t.match((await load(url, { rate: 0.2, seconds: 0.5 })).totals, { sent: 1, good: 1 });
});

t.test('fewer callers than threads: all requests are sent, and the phase ends with them', async (t) => {
  const paths = new Set<string>();
  const url = await serve(t, (request, response) => {
    paths.add(request.url as string);
    response.end();
  });
  const requests = [{ kind: 'request', path: '/{number}' }];
  const phases = [
    { seconds: 3600, concurrency: 1, requests: 7 },
    { seconds: 3600, concurrency: 3, requests: 8 },
  ];
  const { totals } = await load(url, { mix: { requests, phases }, workers: 4 });
  t.match(totals, { sent: 15, good: 15 });
  t.equal(paths.size, 15, 'each has a number of its own');
});

t.test('fields of a request: those of the mix come first, and an empty body has a length', async (t) => {
  const seen: string[][] = [];
  const url = await serve(t, (request, response) => {
    seen.push(request.rawHeaders);
    response.end();
  });
  const headers = { Host: 'shop.example', authorization: 'Basic YTpi' };
  const requests = [{ kind: 'request', path: '/', method: 'POST', headers }];
  const mix = { requests, phases: [{ seconds: 60, concurrency: 1, requests: 1 }] };
  t.match((await load(url, { mix })).totals, { good: 1 });
  t.strictSame(seen, [['content-length', '0', 'Host', 'shop.example', 'authorization', 'Basic YTpi']]);
});

t.test('phases: a warm-up that does not count, a ramp, callers with pauses', async (t) => {
  const url = await serve(t, (_, response) => response.end());
  const mix = parseMix(
    'phases.json',
    `{"requests": [{"kind": "request", "path": "/{number}", "think": "200 ms"}], "phases": [
      {"name": "warm-up", "seconds": 0.5, "rate": 20, "counts": false},
      {"name": "ramp", "seconds": 1, "rate": 10, "rateAtEnd": 90},
      {"name": "callers", "seconds": 1, "concurrency": 5}]}`,
  );
  const { phases, totals } = await load(url, { mix });
  const [warmUp, ramp, callers] = phases;
  t.match(warmUp, { counts: false, good: 10 });
  t.match(ramp, { good: 50, offeredRate: 50 });
  t.ok(
    callers && callers.good >= 5 && callers.good <= 25,
    'with its pause, a caller sends five a second at most',
  );
  t.equal(totals.good, 50 + (callers?.good ?? 0));
});

t.test('a signal ends a run with the result of what ran', async (t) => {
  const url = await serve(t, (request, response) => {
    // some requests have no answer at all
    if (!request.url?.endsWith('7')) response.end();
  });
  const controller = new AbortController();
  const onWindow = (): void => controller.abort(new Error('enough'));
  const result = await load(url, { rate: 100, seconds: 600, signal: controller.signal, onWindow });
  t.ok(result.totals.good > 50 && result.totals.sent < 50_000);
  const { sent, good, failed, codes } = result.totals;
  t.equal(good + failed, sent + (codes.not_started ?? 0));
  t.ok(result.seconds >= 0.9 && result.seconds < 600);
});

t.test('a search for the capacity of a server that soon refuses all', async (t) => {
  let count = 0;
  const url = await serve(t, (_, response) => response.writeHead(++count > 10 ? 503 : 200).end());
  const lines: string[] = [];
  const options: Partial<RunOptions> = {
    capacityTimes: { baseline: 0.2, step: 0.3, confirmation: 0.5 },
    onProgress: (line) => lines.push(line),
  };
  const { capacity, phases, totals } = await load(url, { ...options, capacity: 'p50 < 60 s, errors < 5 %' });
  t.match(capacity, { goal: 'p50 < 60 s, errors < 5 %', rate: null });
  t.ok(capacity?.steps.every(({ met, why }) => !met && /requests failed$|nothing was answered/.test(why)));
  t.equal(lines.length, capacity?.steps.length);
  t.match(phases[0], { name: 'baseline', counts: false });
  t.equal(totals.sent, 0, 'only a confirmation counts');
});

t.test('what can not run is one sentence', async (t) => {
  const find = parseMix(
    'find.json',
    '{"spaces": [{"name": "people", "fields": [{"name": "a"}]}], "requests": [{"kind": "find"}]}',
  );
  const sentence = {
    message: 'the request find is of the kind find, and a target of kind http serves only request',
  };
  await t.rejects(load('http://127.0.0.1:1', { mix: find }), sentence);
  await t.rejects(load('http://127.0.0.1:1', { rate: 1, concurrency: 1 }), {
    message: 'a load has one of rate, concurrency and capacity',
  });
  for (const [options, message] of [
    [{ workers: 0 }, 'workers is 0, and must be a whole number from 1 to 256'],
    [{ rate: 0 }, 'rate is 0, and must be a number above 0, at most 10000000'],
    [{ inFlight: 1.5 }, 'inFlight is 1.5, and must be a whole number from 1 to 1000000'],
    [{ verify: 2 }, 'verify is 2, and must be a number from 0 to 1'],
    [{ rate: 5 }, /^http:\/\/127\.0\.0\.1:1 can't be reached: connect ECONNREFUSED 127\.0\.0\.1:1$/],
  ] as const)
    await t.rejects(load('http://127.0.0.1:1', options), { message });
  const plain = await serve(t, (_, response) => response.end());
  await t.rejects(load(plain.replace('http:', 'https:'), { rate: 5 }), {
    message: /^https:\/\/127\.0\.0\.1:\d+ can't be reached: TLS failed, \w[\w ]+$/,
  });
  await t.rejects(load('http://localhost:1', { rate: 5 }), {
    message: /^http:\/\/localhost:1 can't be reached: connect ECONNREFUSED /,
  });
  const target = {
    kind: 'http',
    url: 'http://127.0.0.1:1',
    credential: null,
    options: { projct: 'a' },
  } as const;
  await t.rejects(run({ mix: numbered, target }), {
    message: 'a target of kind http has no option projct, only none',
  });
});
