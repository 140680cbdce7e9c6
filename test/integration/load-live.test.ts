import t from 'tap';
import { EventReader, type ServerEvent } from '#load/live/event-reader.ts';
import { WatchedRecords } from '#load/live/watched-records.ts';
import { run } from '#load/main.ts';
import { parseMix } from '#load/mix/read-mix.ts';
import { decodeHistogram } from '#load/run/histogram.ts';
import { startEventProxy } from '../services/event-proxy.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const mix = parseMix(
  'mix.json',
  JSON.stringify({
    seed: 3,
    spaces: [
      {
        name: 'people',
        records: 100,
        fields: [
          { name: 'email', type: 'TEXT', unique: true },
          { name: 'city', type: 'TEXT', values: 4 },
          { name: 'age', type: 'NUMBER' },
        ],
      },
    ],
    requests: [
      { name: 'live', kind: 'live', space: 'people', weight: 1, by: ['city'] },
      { name: 'insert', kind: 'insert', space: 'people', weight: 1 },
      { name: 'update', kind: 'update', space: 'people', weight: 1 },
      { name: 'delete', kind: 'delete', space: 'people', weight: 0.2 },
    ],
    phases: [{ name: 'load', seconds: 2, rate: 50, streams: 12 }],
  }),
);

const sluice = await sluiceFor(t);

t.test('streams tell of all changes of their find', async (t) => {
  const target = { kind: 'sluice', url: sluice.baseUrl, credential: sluice.token, options: {} } as const;
  const result = await run({ mix, target, workers: 2 });
  t.match(result.live, { streams: 12, lost: 0 });
  // about three of them watch each of the writes
  t.ok((result.live?.events ?? 0) > 100, `${result.live?.events}`);
  t.equal(result.verified, null);
  t.strictSame(
    result.warnings.filter((warning) => warning.startsWith('Streams')),
    [],
  );
});

t.test('how late events are: of inserts and updates, whichever thread sent them', async (t) => {
  const target = { kind: 'sluice', url: sluice.baseUrl, credential: sluice.token, options: {} } as const;
  const { live } = await run({ mix, target, workers: 2 });
  const delays = live?.delay ? decodeHistogram(live.delay.histogram).totalCount : 0;
  // events of deletions say nothing
  t.ok(delays > (live?.events ?? 0) / 2 && delays <= (live?.events ?? 0), `${delays} of ${live?.events}`);
});

t.test('a server that holds events back has late events', async (t) => {
  const hold = 1000;
  const proxy = await startEventProxy(sluice.baseUrl, { hold });
  t.teardown(() => proxy.close());
  const target = { kind: 'sluice', url: proxy.url, credential: sluice.token, options: {} } as const;
  const { live } = await run({ mix, target, workers: 2 });
  t.equal(live?.lost, 0);
  // the answer may come some milliseconds after the event reached the proxy
  t.ok((live?.delay?.p50 ?? 0) > 0.8 * hold, `${live?.delay?.p50} ms`);
});

t.test('without writes that count there is no delay', async (t) => {
  const target = { kind: 'sluice', url: sluice.baseUrl, credential: sluice.token, options: {} } as const;
  const phases = mix.phases.map((phase) => ({ ...phase, seconds: 0.5, counts: false }));
  const { live } = await run({ mix: { ...mix, phases }, target, workers: 1 });
  t.match(live, { streams: 12, delay: null });
});

t.test('a change that a stream did not tell of is counted, and the run fails', async (t) => {
  const proxy = await startEventProxy(sluice.baseUrl, { drop: 'enter' });
  t.teardown(() => proxy.close());
  const target = { kind: 'sluice', url: proxy.url, credential: sluice.token, options: {} } as const;
  const result = await run({ mix, target, workers: 1 });
  t.equal(result.live?.lost, 1);
  t.match(result.verified?.wrong, [
    /^stream \d+ \(live\) did not tell of a change, of the record with the id /,
  ]);
  t.match(result.verified?.wrong[0], proxy.dropped[0]);
});

t.test('streams that are refused are a warning', async (t) => {
  const small = await sluiceFor(t, { env: { LIVE_MAX_TOKEN_STREAMS: '5' } });
  const target = { kind: 'sluice', url: small.baseUrl, credential: small.token, options: {} } as const;
  const result = await run({ mix, target, workers: 1 });
  t.match(
    result.warnings.join('\n'),
    /^Streams ended or were refused, and were opened again: too_many_streams \(\d+\)/m,
  );
  t.equal(result.live?.lost, 0);
});

t.test('events are read whatever the pieces', async (t) => {
  const text =
    'retry: 1000\nid: 0\nevent: snapshot\ndata: [{"id":"1","name":"Zoë"}]\n\n: a comment\n\nid: a\nevent: ready\ndata: {}\n\n' +
    'id: b\nevent: enter\ndata: {"id":"2"}\n\nid: c\nevent: leave\ndata: {"id":"1"}\n\n';
  for (const size of [1, 7, 1000]) {
    const events: ServerEvent[] = [];
    const records = new WatchedRecords();
    const reader = new EventReader((event) => {
      events.push(event);
      records.apply(event);
    });
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.byteLength; at += size) reader.add(bytes.subarray(at, at + size));
    t.strictSame(
      events.map(({ type, id }) => [type, id]),
      [
        ['snapshot', '0'],
        ['ready', 'a'],
        ['enter', 'b'],
        ['leave', 'c'],
      ],
    );
    t.match(records, { events: 2, isReady: true });
    t.strictSame(records.differences([{ id: '2' }]), []);
    t.strictSame(records.differences([]), ['2']);
    t.strictSame(records.differences([{ id: '2' }, { id: '3' }]), ['3']);
    t.strictSame(records.differences([{ id: '2', name: 'other' } as { id: string }]), ['2']);
  }
});
