import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentileOf } from '#load/run/histogram.ts';
import { startServedEngine } from '../query/subject/served-engine.ts';
import { startScript } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
import { startEnvironment } from '../upload/harness/start-environment.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { newAccount } from '../upload/subject/new-account.ts';
import { agent, type Cost, type Stored, Subject, token } from './subject.ts';

/**
 * `node --import tsx bench/folders/main.ts [FILES] [--served]`: a folder of FILES files (100,000), filled through the
 * gateway, beside one of a hundred. What an upload, a download, a page, a count and the deletion cost in each, and how long
 * another account's downloads take meanwhile. On the file system, with the embedded engine or a ClickHouse server.
 */
const [files = 100_000] = process.argv.slice(2).map(Number).filter(Number.isFinite);
const served = process.argv.includes('--served');
/** Where the stores are kept for another run; absent: nowhere. */
const kept = process.argv[process.argv.indexOf('--data') + 1 || process.argv.length];
const fewFiles = 100;
const connections = 16;
const rounds = 5;
const perRound = 40;

async function start() {
  const dataDir = kept ?? makeTemporaryDirectory();
  const engine = served ? await startServedEngine() : null;
  const child = await startScript('main.ts', {
    env: {
      ...startEnvironment(),
      PORT: '0',
      DATA_DIR: dataDir,
      BOOTSTRAP_TOKEN: token,
      ...(engine === null ? {} : { CLICKHOUSE_URL: engine.url }),
    },
    ready: /^Sluice listens on (\S+)$/m,
  });
  const subject = new Subject(child.ready, [child.pid], engine === null ? [] : [engine.pid]);
  const root = join(import.meta.dirname, '../..');
  const other = await newAccount({ dataDir, root }, `other${Date.now()}@bench.example`);
  return {
    subject,
    other,
    fillServed: (many: number) => fillServed(subject, engine?.url ?? '', many),
    async stop() {
      agent.destroy();
      await child.stop();
      await engine?.stop();
      if (kept === undefined) removeTemporaryDirectory(dataDir);
    },
  };
}

/** Fills a folder, some files at a time. @returns a file of its middle */
async function fill(subject: Subject, many: number): Promise<Stored> {
  const { folder } = await subject.put('/new/0.txt');
  let next = 1;
  let middle: Stored | undefined;
  const one = async (): Promise<void> => {
    while (next < many) {
      const at = next++;
      const stored = await subject.put(`/${folder}/${at}.txt`);
      if (at === Math.floor(many / 2)) middle = stored;
      if (at % 10_000 === 0) progress(`${at} files, ${megabytes(subject.resident())} MB`);
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  return middle as Stored;
}

/** The same by SQL, without objects, but for the first files: through the gateway, a server takes twenty minutes. */
async function fillServed(subject: Subject, url: string, many: number): Promise<Stored> {
  const { folder } = await fill(subject, fewFiles);
  const ask = async (sql: string): Promise<string> => {
    const answer = await fetch(url, { method: 'POST', body: sql });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  };
  const [files, list] = ['sluice.cloud_files', 'sluice.file_list'];
  await ask(`INSERT INTO ${files} SELECT * EXCEPT (number) REPLACE (
      toString(generateUUIDv4()) AS id, concat(toString(generateUUIDv4()), '_', toString(number), '.txt') AS name,
      concat(toString(number), '.txt') AS original_name, concat(toString(number), '.txt') AS path,
      concat(object_key, toString(number)) AS object_key, created_at + toIntervalMillisecond(number) AS created_at)
    FROM (SELECT * FROM ${files} WHERE folder = '${folder}' AND path = '0.txt') AS one
    CROSS JOIN numbers(${fewFiles}, ${many - fewFiles}) AS numbers`);
  const columns = (
    await ask(`SELECT name FROM system.columns WHERE database = 'sluice' AND table = 'file_list'`)
  )
    .trim()
    .split('\n');
  await ask(`INSERT INTO ${list} (${columns.join(', ')}) SELECT ${columns.join(', ')} FROM ${files}
    WHERE folder = '${folder}' AND toUInt32(splitByChar('.', path)[1]) >= ${fewFiles}`);
  const middle =
    await ask(`SELECT id AS _id, formatDateTime(created_at, '%Y-%m-%dT%H:%i:%S.%fZ') AS createdAt, folder, path
    FROM ${files} WHERE folder = '${folder}' AND path = '${Math.floor(many / 2)}.txt' FORMAT JSONEachRow`);
  const stored = JSON.parse(middle) as Stored;
  return { ...stored, createdAt: new Date(stored.createdAt).toISOString() };
}

/** Requests of another account until `work` is done. @returns milliseconds of each */
async function beside(subject: Subject, as: string, work: Promise<unknown>): Promise<string> {
  const { folder } = await subject.put('/new/other.txt', as);
  const times: Record<string, number[]> = { download: [], upload: [], deletion: [] };
  let over = false;
  void work.finally(() => {
    over = true;
  });
  const timed = async (what: string, one: Promise<unknown>): Promise<void> => {
    const begun = performance.now();
    await one;
    times[what]?.push(performance.now() - begun);
  };
  for (let at = 0; !over; at++) {
    const path = `/${folder}/${at}.txt`;
    await timed('upload', subject.put(path, as));
    await timed('download', subject.ok(path, { as }));
    await timed('deletion', subject.ok(path, { method: 'DELETE', as }));
    await sleep(10);
  }
  const shownOf = ([what, some]: readonly [string, readonly number[]]): string =>
    `${what} ${[50, 99, 100].map((percent) => percentileOf(some, percent).toFixed(0)).join(' / ')}`;
  return `${Object.entries(times).map(shownOf).join(', ')} ms (median / p99 / worst) of ${times.upload?.length}`;
}

const megabytes = (bytes: number): number => Math.round(bytes / 1e6);
const shown = ({ median: middle, worst, own, engine }: Cost): string =>
  [middle, worst, own, ...(served ? [engine] : [])].map((number) => number.toFixed(1)).join(' / ');

async function compare(subject: Subject, name: string, both: readonly ((at: number) => Promise<unknown>)[]) {
  const costs: Cost[][] = both.map(() => []);
  let at = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [which, one] of both.entries())
      costs[which]?.push(await subject.cost(perRound, (index) => one(at + index)));
    at += perRound;
  }
  const memory = subject.resident();
  const middles = costs.map((some) => ({
    median: median(some.map((cost) => cost.median)),
    worst: Math.max(...some.map((cost) => cost.worst)),
    own: median(some.map((cost) => cost.own)),
    engine: median(some.map((cost) => cost.engine)),
  }));
  process.stdout.write(`| ${name} | ${middles.map(shown).join(' | ')} | ${megabytes(memory)} |\n`);
}

async function deletion(subject: Subject, folder: string, other: string): Promise<void> {
  const watch = subject.memory();
  const [own, engine] = subject.cpu();
  const begun = performance.now();
  const answers: string[] = [];
  const work = (async () => {
    for (let more = true; more; ) {
      const from = performance.now();
      const answer = JSON.parse(await subject.ok(`/${folder}/`, { method: 'DELETE' }));
      more = answer.more;
      answers.push(
        `${answer.deleted} in ${((performance.now() - from) / 1000).toFixed(1)} s, ${answer.failed.length} failed`,
      );
    }
  })();
  const others = await beside(subject, other, work);
  await work;
  const took = (performance.now() - begun) / 1000;
  const [ownAfter, engineAfter] = subject.cpu();
  process.stdout.write(
    `\ndeletion: ${took.toFixed(1)} s, ${(ownAfter - own).toFixed(1)} s of CPU, ${(engineAfter - engine).toFixed(1)} s of the engine's, at most ${megabytes(watch.end().peak)} MB: ${answers.join('; ')}\n`,
  );
  process.stdout.write(`another account meanwhile: ${others}\n`);
}

async function main(): Promise<void> {
  process.stdout.write(`${machineLine(describeMachine())}\n\n`);
  const { subject, other, fillServed, stop } = await start();
  const [own, engine] = subject.cpu();
  const begun = performance.now();
  const list = kept === undefined ? '' : join(kept, 'folders.json');
  const known = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : null;
  const filling = served ? fillServed : (many: number) => fill(subject, many);
  const large: Stored = known?.large ?? (await filling(files));
  const [ownAfter, engineAfter] = subject.cpu();
  progress(
    `filled in ${((performance.now() - begun) / 1000).toFixed(1)} s, ${(ownAfter - own).toFixed(1)} s of CPU, ${(engineAfter - engine).toFixed(1)} s of the engine's`,
  );
  const few: Stored = known?.few ?? (await fill(subject, fewFiles));
  if (known === null && list !== '') {
    writeFileSync(list, JSON.stringify({ large, few }));
    return stop();
  }
  process.stdout.write(`another account alone: ${await beside(subject, other, sleep(5000))}\n\n`);
  const folders = [large, few];
  const inBoth = (one: (folder: Stored, at: number, size: number) => Promise<unknown>) =>
    folders.map((folder, which) => (at: number) => one(folder, at, which === 0 ? files : fewFiles));
  const columns = `median / worst / CPU${served ? " / engine's CPU" : ''}, ms`;
  process.stdout.write(
    `| request | ${files} files: ${columns} | ${fewFiles} files | MB |\n|---|---|---|---|\n`,
  );
  const only = process.argv.includes('--deletion');
  if (only) {
    await deletion(subject, large.folder, other);
    return stop();
  }
  const run = Date.now();
  await compare(
    subject,
    'upload',
    inBoth(({ folder }, at) => subject.put(`/${folder}/${run}/${at}.txt`)),
  );
  const anyPath = (at: number, size: number): string => `${(at * 7919 + 13) % size}.txt`;
  await compare(
    subject,
    'download',
    // rows that were made by SQL have no objects
    inBoth(({ folder }, at, size) => subject.ok(`/${folder}/${anyPath(at, served ? fewFiles : size)}`)),
  );
  await compare(
    subject,
    'a path without a file',
    inBoth(({ folder }, at) => subject.call(`/${folder}/none/${at}`)),
  );
  const page = (folder: string, more = ''): Promise<string> =>
    subject.ok(`?folder=${folder}&limit=100${more}`);
  await compare(
    subject,
    'first page',
    inBoth(({ folder }) => page(folder)),
  );
  await compare(
    subject,
    'page from the middle',
    inBoth(({ folder, createdAt, _id }) => page(folder, `&after=${createdAt}_${_id}`)),
  );
  await compare(
    subject,
    'first page by name',
    inBoth(({ folder }) => page(folder, '&sort=name')),
  );
  await compare(
    subject,
    'first page and count',
    inBoth(({ folder }) => page(folder, '&count=true')),
  );
  await deletion(subject, large.folder, other);
  await stop();
}

await main();
