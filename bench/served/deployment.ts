import { startRedis } from '../../test/services/redis.ts';
import { authorization, startService } from '../query/direct-store.ts';
import { type RequestKind, structureOf } from '../query/requests.ts';
import { type LoadResult, runLoad } from '../query/run-load.ts';
import { type ServedEngine, startServedEngine } from '../query/subject/served-engine.ts';
import { fillSpace } from '../query/subject/sluice-store.ts';
import type { Child } from '../upload/harness/child-process.ts';
import { median } from '../upload/harness/median.ts';
import { cpuSeconds } from '../upload/harness/process-usage.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';

/** The result of a load. CPU times are microseconds per request, of all threads. */
export interface Round {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly engine: number;
  readonly own: number;
  /** New parts per second in the table with the most. */
  readonly parts: number;
  readonly bad: number;
}

/** Each load starts at numbers that no earlier load has used. */
let number = 100_000_000;

/** A ClickHouse server, Redis, and query processes started like users start them, with the space `people`. */
export class Deployment {
  readonly engine: ServedEngine;
  readonly #start: () => Promise<Child>;
  readonly #end: () => Promise<void>;
  readonly #children: Child[] = [];
  #ids: readonly string[] = [];

  static async open(rows: number): Promise<Deployment> {
    const folder = makeTemporaryDirectory();
    const [engine, redis] = [await startServedEngine(), await startRedis()];
    const env = { CLICKHOUSE_URL: engine.url, REDIS_URL: redis.url };
    const deployment = new Deployment({
      engine,
      start: () => startService(folder, env, { script: 'query/main.ts' }),
      async end() {
        await redis.stop();
        await engine.stop();
        removeTemporaryDirectory(folder);
      },
    });
    await deployment.fill(rows);
    return deployment;
  }

  private constructor(args: {
    engine: ServedEngine;
    start: () => Promise<Child>;
    end: () => Promise<void>;
  }) {
    this.engine = args.engine;
    this.#start = args.start;
    this.#end = args.end;
  }

  async fill(rows: number): Promise<void> {
    await this.processes(1);
    this.#ids = await fillSpace((this.#children[0] as Child).ready, rows);
  }

  /** Starts query processes until there are this many. */
  async processes(count: number): Promise<void> {
    while (this.#children.length < count) this.#children.push(await this.#start());
  }

  /** Changes every tenth record, a thousand per request, except those that earlier lines have changed. */
  async updateTenth(rows: number): Promise<void> {
    const { ready } = this.#children[0] as Child;
    const headers = { authorization, structure: structureOf('people'), 'content-type': 'application/json' };
    for (let first = 0; first < rows; first += 10_000) {
      const where = { age: { lt: 10 }, score: { gte: first / 8, lt: (first + 10_000) / 8 } };
      const body = JSON.stringify({ where, set: { about: 'changed' } });
      const answer = await fetch(`${ready}/bench/people/_update_`, { method: 'POST', headers, body });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`updating a thousand: ${answer.status} ${text}`);
    }
  }

  /** Returns the text of a result. */
  async ask(sql: string): Promise<string> {
    const answer = await fetch(this.engine.url, { method: 'POST', body: sql });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text.trim();
  }

  /** Sends new requests to every process. @param connections of each */
  async measure(kind: RequestKind, connections: number, seconds: number): Promise<Round> {
    const pids = this.#children.map(({ pid }) => pid);
    const since = await this.ask('SELECT toString(now64(6))');
    const before = { engine: cpuSeconds([this.engine.pid]), own: cpuSeconds(pids) };
    const results: LoadResult[] = [];
    const load = async ({ ready: url }: Child, index: number): Promise<void> => {
      const from = number + index * 1_000_000;
      results.push(await runLoad({ url, authorization, from, kind, connections, seconds, ids: this.#ids }));
    };
    await Promise.all(this.#children.map(load));
    const [engine, own] = [cpuSeconds([this.engine.pid]), cpuSeconds(pids)];
    const total = (of: (result: LoadResult) => number) => results.reduce((sum, one) => sum + of(one), 0);
    const [good, bad] = [total((result) => result.good), total((result) => result.bad)];
    number += pids.length === 1 ? good + bad : pids.length * 1_000_000;
    const each = 1e6 / Math.max(1, good);
    return {
      perSecond: total(({ perSecond }) => perSecond),
      p50: median(results.map(({ p50 }) => p50)),
      engine: (engine - before.engine) * each,
      own: (own - before.own) * each,
      parts: (await this.#newParts(since)) / seconds,
      bad,
    };
  }

  async close(): Promise<void> {
    for (const child of this.#children) await child.stop();
    await this.#end();
  }

  async #newParts(since: string): Promise<number> {
    await this.ask('SYSTEM FLUSH LOGS');
    const text = await this.ask(`SELECT max(n) FROM (SELECT count() AS n FROM system.part_log
      WHERE event_type = 'NewPart' AND database != 'system' AND event_time_microseconds > '${since}' GROUP BY table)`);
    return Number(text);
  }
}
