/** What a run looks like: as a page, as lines, and while it runs. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { describeCapacity } from '../../load/report/describe-capacity.ts';
import { describeRun } from '../../load/report/describe-run.ts';
import { createLiveLine } from '../../load/report/live-line.ts';
import { writePage } from '../../load/report/page.ts';
import type { RunResult, Window } from '../../load/run/result.ts';
import { drawnRun } from '../services/drawn-run.ts';

const hostile = `</title></style><script src="https://evil.example/x.js">'"&\u202e\x1b[2J\nnext`;

/** A run with every text that comes from a mix, a server or a command line replaced. */
function hostileRun(): RunResult {
  const run = drawnRun({ seed: 1, seconds: 5 });
  return {
    ...run,
    ...{ tool: hostile, machine: hostile, began: hostile, warnings: [hostile] },
    mix: { name: hostile, seed: 1, text: hostile },
    target: { kind: hostile, url: hostile },
    totals: { ...run.totals, codes: { [hostile]: 3 } },
    requests: run.requests.map((request) => ({
      ...request,
      name: hostile,
      kind: `${hostile}!`,
      codes: { [hostile]: 3 },
    })),
    phases: run.phases.map((phase) => ({ ...phase, name: hostile })),
    windows: run.windows.map((window, at) => ({ ...window, phase: at < 3 ? hostile : `${hostile}!` })),
    verified: { checked: 1, bytes: 1, wrong: [hostile] },
    cost: { tool: { cpu: 1, memory: 1 }, target: { cpu: 1, memory: 1, source: hostile } },
    capacity: {
      goal: hostile,
      rate: 10,
      steps: [{ rate: 10, seconds: 1, met: true, why: hostile, p99: 1, errors: 0 }],
    },
  };
}

t.test('the page needs nothing else, and allows itself nothing else', async (t) => {
  const page = writePage(drawnRun({ seed: 1 }));
  t.notMatch(page, /<script|<link|<iframe|<img|\bsrc=|\bhref=|url\(|@import|\bon\w+=|\bstyle="/i);
  const [, style = ''] = /<style>(.*)<\/style>/s.exec(page) ?? [];
  const hash = createHash('sha256').update(style).digest('base64');
  t.match(page, `default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;;`);
});

t.test('texts of others are shown, and obeyed nowhere', async (t) => {
  const page = writePage(hostileRun());
  t.notMatch(page, '<script');
  t.equal(page.match(/<\/style>/g)?.length, 1);
  t.equal(page.match(/<\/title>/g)?.length, page.match(/<title>/g)?.length);
  t.ok((page.match(/&lt;script src=&quot;/g)?.length ?? 0) > 15, 'each of them is on the page');
  for (const text of [describeRun(hostileRun()), liveLines(hostileRun().windows, true)]) {
    t.notMatch(text.replaceAll('\r\x1b[K', ''), /[^\P{C}\n]/u, 'no terminal obeys them');
  }
});

t.test('the page has what happened', async (t) => {
  const page = writePage(drawnRun({ seed: 1, seconds: 60 }));
  for (const text of [
    ...['Latency over time', 'Throughput', 'Latency by percentile', 'CPU', 'Memory of the target'],
    ...['Requests', 'Refusals by code', 'too_many_requests', 'Phases', 'does not count', 'p99.9'],
    ...['from the intended start', 'from the real start', 'pid 4711', '2 x Example CPU'],
  ])
    t.match(page, text);
  t.notMatch(page, /NaN|Infinity|undefined|null|\[object/);
});

t.test('a run of an hour has a page of the same size, and says what a point stands for', async (t) => {
  const [minutes, hours] = [478, 20_000].map((seconds) => writePage(drawnRun({ seed: 1, seconds })));
  t.ok((hours?.length ?? 0) < 1.3 * (minutes?.length ?? 0));
  t.match(hours, 'each point is 84 s: the mean p50, the highest p99 and max');
});

t.test('a run in which nothing was answered has a page and lines as well', async (t) => {
  const run = drawnRun({ seed: 1, seconds: 5 });
  const totals = { ...run.totals, sent: 0, good: 0, failed: 0, codes: {} };
  const nothing = { p50: null, p90: null, p99: null, max: null, targetCpu: null, targetMemory: null };
  const silent = {
    ...run,
    totals: { ...totals, latency: { ...totals.latency, histogram: 'not one' } },
    requests: [],
    windows: run.windows.map((window) => ({ ...window, ...nothing, sent: 0, good: 0, failed: 0 })),
    cost: { ...run.cost, target: null },
  };
  for (const one of [silent, { ...silent, windows: [], phases: [] }]) {
    t.notMatch(writePage(one), /NaN|Infinity|undefined|null|Memory of the target|Latency by percentile/);
    t.notMatch(describeRun(one), /NaN|Infinity|undefined|null/);
  }
});

t.test(
  'requests that could not start are among those that failed, and a request that was not chosen has no times',
  async (t) => {
    const run = drawnRun({ seed: 1, seconds: 5 });
    const totals = { ...run.totals, sent: 4, good: 0, failed: 50, codes: { not_started: 46, timeout: 4 } };
    const requests = run.requests.map((one) => ({ ...one, sent: 0, good: 0, failed: 0 }));
    const one = { ...run, totals, requests };
    const page = writePage(one);
    t.match(page, /<dt>Failed<\/dt><dd><span class="value">100 %<\/span><span class="more">50 of 50</);
    t.match(page, /<code>not_started<\/code><\/th><td[^>]*>46<\/td><td[^>]*>92 %/);
    t.match(describeRun(one), /^find +0 +0 +\d+ +- +- +- +-$/m);
  },
);

t.test('a verification that chose nothing does not say that all is right', async (t) => {
  const run = drawnRun({ seed: 1, seconds: 5, changes: { verified: { checked: 0, bytes: 0, wrong: [] } } });
  t.match(describeRun(run), /^Verified: nothing\. The share was too small for what was stored\.$/m);
  t.match(writePage(run), 'The share was too small');
  t.notMatch(writePage(run), 'as they were stored');
});

t.test('lines: requests, refusals, cost, what is wrong', async (t) => {
  const capacity = { goal: 'p99 < 50 ms', rate: 1600, steps: [] };
  const verified = { checked: 1200, bytes: 5e6, wrong: ['The record orders/17 is lost.'] };
  const text = describeRun(
    drawnRun({ seed: 1, changes: { capacity, verified, warnings: ['The tool was busy.'] } }),
  );
  t.match(text, /^request +good +failed +good\/s +p50 +p99 +p99\.9 +max$/m);
  t.match(text, /^find +\d\d,\d{3} +\d+ +\d{3} +[12](\.\d+)? ms /m);
  t.match(text, /^all +\d\d,\d{3} /m);
  t.match(text, /^Failed, by code: too_many_requests \d+, timeout \d+$/m);
  t.match(text, /^The target took 49\.6 s of CPU, 381 MiB of memory \(pid 4711\)\.$/m);
  t.match(
    text,
    /^Capacity: The target keeps the goal up to 1,600 requests a second\. The goal was p99 < 50 ms\.$/m,
  );
  t.match(
    text,
    /^Verified: 1,200 records and files, 4\.77 MiB: 1 are wrong\.\nWrong: The record orders\/17 is lost\.$/m,
  );
  t.match(text, /^Warning: The tool was busy\.$/m);
});

t.test('streams: what came, what did not, and how late it was', async (t) => {
  const run = drawnRun({ seed: 1 });
  const counts = { streams: 500, events: 12_000, lost: 0 };
  const delay = { ...run.totals.latency, p50: 0.25, p99: 4, max: 31 };
  const late = { ...run, live: { ...counts, delay } };
  for (const text of [describeRun(late), writePage(late)]) {
    t.match(text, '500 streams were open. 12,000 changes came, and 0 did not.');
    t.match(text, 'From the answer of a write to its event: p50 250 µs, p99 4 ms, max 31 ms.');
  }
  const unknown = { ...run, live: { ...counts, delay: null } };
  t.notMatch(describeRun(unknown), 'From the answer of a write');
});

t.test('a search for capacity that found none says how near it came', async (t) => {
  const step = (rate: number, met: boolean) => ({ rate, met, seconds: 5, why: '', p99: 1, errors: 0 });
  const found = (...steps: ReturnType<typeof step>[]) =>
    describeCapacity({ goal: 'p99 < 1s', rate: null, steps });
  t.equal(found(step(10, false)), 'Even the lowest rate missed the goal.');
  t.match(
    found(step(10, true), step(40, false), step(20, true)),
    /^No rate kept .+; 20 requests a second kept it/,
  );
});

t.test('a terminal has one line, and a file one each ten seconds', async (t) => {
  const { windows } = drawnRun({ seed: 1, seconds: 28 });
  const terminal = liveLines(windows, true);
  t.equal(terminal.split('\r\x1b[K').length, windows.length + 2, 'each clears the one before');
  t.notMatch(terminal, '\n');
  t.ok(
    terminal.split('\r\x1b[K').every((line) => line.length < 60),
    'none wraps',
  );
  const lines = liveLines(windows, false).trimEnd().split('\n');
  t.equal(lines.length, 3);
  t.match(
    lines[1],
    /^20 s load {2}\d+(,\d+)?\/s(, \d failed)? {2}p50 \S+ ms, p99 \S+ ms, max \S+ ms {2}CPU target 0\.\d\d, tool 0\.\d\d$/,
  );
});

t.test('a line that stays comes above the live one', async (t) => {
  let written = '';
  const line = createLiveLine({ isTTY: true, columns: 200, write: (text) => (written += text) });
  line.window(drawnRun({ seed: 1, seconds: 1 }).windows[0] as Window);
  const live = written;
  line.say('1,600/s: met');
  t.equal(written, `${live}\r\x1b[K1,600/s: met\n${live.replace('\r\x1b[K', '')}`);
});

t.test('a terminal that does not say how wide it is has the usual width', async (t) => {
  let written = '';
  const line = createLiveLine({ isTTY: true, columns: 0, write: (text) => (written += text) });
  line.window(drawnRun({ seed: 1, seconds: 1 }).windows[0] as Window);
  t.match(written, /1 s warm-up /);
  t.ok(written.length <= '\r\x1b[K'.length + 79);
});

function liveLines(windows: readonly Window[], isTTY: boolean): string {
  let written = '';
  const line = createLiveLine({ isTTY, columns: 60, write: (text) => (written += text) });
  for (const window of windows) line.window(window);
  line.end();
  return written;
}
