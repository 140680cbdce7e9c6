import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { lastingPort } from './lasting-port.ts';
import { startLoadBalancer } from './load-balancer.ts';
import { connectRaw } from './raw-http.ts';
import { call, structureOf } from './record-client.ts';
import { startRedis } from './redis.ts';
import { startS3Stub } from './s3-stub/start-s3-stub.ts';
import { stubSettings } from './s3-stub/stub-settings.ts';
import { startClickhouse } from './start-clickhouse.ts';
import { removeData, type Sluice, startSluice, acceptanceToken as token } from './start-sluice.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The load goes on while processes start, which need the cores. */
const pause = (): Promise<void> => sleep(20);

const sizes = { 'small upload': 2_000, 'large upload': 6_500_000 };
const plain = structureOf('roll', 'plain', [{ name: 'key', type: 'TEXT' }]);
const unique = structureOf('roll', 'unique', [{ name: 'key', type: 'TEXT', unique: true }]);

interface Stored {
  readonly id: string;
  readonly key: string;
}

/**
 * Two gateways and two query processes behind a load balancer, over one ClickHouse server, one bucket and one Redis:
 * some are restarted in turn under load. No request may fail but uploads past the drain deadline.
 * @param restarted places of the processes that are: gateways 0 and 1, query processes 2 and 3
 */
export async function rollingRestart(
  t: Test,
  { workers, restarted }: { workers: number; restarted: readonly number[] },
): Promise<void> {
  const [redis, chdb] = await Promise.all([startRedis(), startClickhouse()]);
  const folder = await temporaryFolder(t);
  const stub = await startS3Stub({ storage: { folder } });
  const env = {
    CLICKHOUSE_URL: chdb.url,
    REDIS_URL: redis.url,
    ...stubSettings(stub),
    UPLOAD_PART_BYTES: String(5 * 1024 * 1024),
    WORKERS: String(workers),
    // longer than the load balancer's check may take
    DRAIN_DELAY_MS: '1500',
    DRAIN_TIMEOUT_MS: '3000',
  };
  const start = async (script: 'gateway/main.ts' | 'query/main.ts'): Promise<Sluice> =>
    startSluice({ script, env: { ...env, PORT: String(await lastingPort()) } });
  // the first makes the tables
  const first = await start('gateway/main.ts');
  const processes = [
    first,
    ...(await Promise.all([start('gateway/main.ts'), start('query/main.ts'), start('query/main.ts')])),
  ];
  const addresses = processes.map(({ baseUrl }) => baseUrl);
  const balancer = await startLoadBalancer({ gateways: addresses.slice(0, 2), queries: addresses.slice(2) });
  const { baseUrl } = balancer;
  t.teardown(async () => {
    await balancer.close();
    for (const sluice of processes) {
      await sluice.stop();
      await removeData(sluice);
    }
    await stub.close();
    await Promise.all([chdb.close(), redis.stop()]);
  });
  for (const address of addresses) await balancer.until(address, true);

  const counts: Record<string, Record<string, number>> = {};
  const count = (kind: string, result: string | number): void => {
    const results = counts[kind] ?? {};
    counts[kind] = results;
    results[result] = (results[result] ?? 0) + 1;
  };
  const failures: string[] = [];
  /** Does a request, and counts it by its result. Answers its body, or null when it failed. */
  const attempt = async <Body>(
    kind: string,
    send: () => Promise<{ status: number; body: unknown }>,
  ): Promise<Body | null> => {
    try {
      const { status, body } = await send();
      count(kind, status);
      if (status === 200) return body as Body;
      failures.push(`${kind}: ${status} ${JSON.stringify(body)}`);
    } catch (error) {
      count(kind, 'no answer');
      failures.push(`${kind}: ${String(error)} ${String((error as Error).cause)}`);
    }
    return null;
  };

  const files = new Map<string, Buffer>();
  const records = { plain: new Map<string, string>(), unique: new Map<string, string>() };
  let running = true;
  let made = 0;
  const upload = async (kind: keyof typeof sizes): Promise<void> => {
    while (running) {
      const content = Buffer.alloc(sizes[kind], `${++made} of ${kind};`);
      const body = new FormData();
      body.set('file', new Blob([content]), 'f.bin');
      const headers = { authorization: `Bearer ${token}` };
      const answer = await attempt<{ name: string }>(kind, async () => {
        const response = await fetch(`${baseUrl}/_f_/roll/upload`, { method: 'POST', headers, body });
        return { status: response.status, body: await response.json() };
      });
      if (answer !== null) files.set(answer.name, content);
      await pause();
    }
  };
  const insert = async (space: 'plain' | 'unique', structure: string): Promise<void> => {
    while (running) {
      const sent = [{ key: `key ${++made}` }, { key: `key ${++made}` }];
      const stored = await attempt<Stored[]>(`insert ${space}`, () =>
        call({ baseUrl, token, path: `/roll/${space}`, structure, body: sent }),
      );
      for (const { id, key } of stored ?? []) records[space].set(key, id);
      await pause();
    }
  };
  const find = async (): Promise<void> => {
    while (running) {
      const [key, id] = [...records.plain].at(-1) ?? [];
      if (key === undefined) {
        await pause();
        continue;
      }
      const path = `/roll/plain?key=${encodeURIComponent(key)}`;
      const found = await attempt<Stored[]>('find', () => call({ baseUrl, token, path, structure: plain }));
      if (found !== null && found[0]?.id !== id) failures.push(`find: ${key} was not found`);
      await pause();
    }
  };

  // more than the drain allows: wherever they are, each gets 503 when its gateway stops, if both do
  const begin = 'Content-Disposition: form-data; name="file"; filename="slow.bin"\r\n\r\n';
  const slow = Array.from({ length: restarted.includes(0) && restarted.includes(1) ? 4 : 0 }, () => {
    const raw = connectRaw(baseUrl);
    raw.send(
      `POST /_f_/roll/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 9000000\r\n\r\n--b\r\n${begin}`,
    );
    raw.send(Buffer.alloc(7_000_000, 'never to be whole'));
    return raw;
  });
  while (stub.openUploads().length < slow.length) await sleep(20);

  const load = Promise.all([
    ...[1, 2].map(() => upload('small upload')),
    upload('large upload'),
    insert('plain', plain),
    insert('unique', unique),
    ...[1, 2].map(find),
  ]);
  /** So that each step happens in the middle of work. */
  const progress = async (): Promise<void> => {
    const before = new Map(Object.entries(counts).map(([kind, results]) => [kind, results[200] ?? 0]));
    const kinds = ['small upload', 'large upload', 'insert plain', 'insert unique', 'find'];
    while (kinds.some((kind) => (counts[kind]?.[200] ?? 0) < (before.get(kind) ?? 0) + 1)) {
      if (failures.length > 0) return;
      await sleep(20);
    }
  };
  for (const place of restarted) {
    const address = addresses[place] as string;
    await progress();
    t.equal(await processes[place]?.stop(), 0, `${address} ends in order`);
    await balancer.until(address, false);
    await progress();
    processes[place] = (await processes[place]?.restart()) as Sluice;
    t.equal(processes[place]?.baseUrl, address);
    await balancer.until(address, true);
  }
  await progress();
  running = false;
  await load;

  for (const raw of slow) {
    const answer = await raw.until(/\}$/);
    count('upload past the deadline', answer.slice(9, 12));
    t.match(answer, /^HTTP\/1.1 503 .*"code":"shutting_down"/s);
    raw.socket.destroy();
  }
  t.comment(JSON.stringify(counts), `${balancer.retried()} sent twice by the load balancer`);
  t.strictSame(failures, [], 'no request failed');
  t.strictSame(balancer.faults, []);

  t.strictSame(stub.openUploads(), [], 'no open multipart upload');
  const stored = stub.objects().map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
  t.strictSame(stored.sort(), [...files.keys()].sort(), 'an object for each acknowledged file, and no other');
  const rows = await fetch(`${chdb.url}/?query=${encodeURIComponent('SELECT name FROM sluice.cloud_files')}`);
  const names = (await rows.text()).trim().split('\n').sort();
  t.strictSame(names, stored, 'and a row');
  let different = 0;
  for (const [name, content] of files) {
    const response = await fetch(`${baseUrl}/_f_/roll/${name}`);
    if (!content.equals(Buffer.from(await response.arrayBuffer()))) different++;
  }
  t.equal(different, 0, 'byte for byte');
  for (const [space, structure] of [
    ['plain', plain],
    ['unique', unique],
  ] as const) {
    const { body } = await call({ baseUrl, token, path: `/roll/${space}`, structure });
    const found = new Map((body as Stored[]).map(({ id, key }) => [key, id]));
    t.equal(found.size, (body as Stored[]).length, `no record of ${space} is there twice`);
    t.strictSame(new Map([...found].sort()), new Map([...records[space]].sort()), `records of ${space}`);
  }
}
