import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveClient, LiveEvent, LiveRecord } from './live-client.ts';
import type { liveSpace } from './live-spaces.ts';

export interface WatchedFind {
  readonly query: string;
  readonly isIn: (record: LiveRecord) => boolean;
  /** Its records lack fields. */
  readonly isPart?: boolean;
  /** Its client reads nothing for long times. */
  readonly isSlow?: boolean;
}

/**
 * Tries, with 50 ms between them, until a client should have what a find answers. A statement of a killed server may end
 * behind the snapshot of its client, who hears of it when the lease of the writer is over, after 30 s.
 */
const tries = 800;
const mostProblems = 5;

interface Args {
  readonly find: WatchedFind;
  readonly space: ReturnType<typeof liveSpace>;
  readonly random: (below: number) => number;
  /** Texts of records by id and version, which all clients should agree about. */
  readonly seen: Map<string, string>;
  readonly server: () => { readonly baseUrl: string };
}

/** A client of a live query that has bad connections, and checks each event. */
export class WatchingClient {
  readonly find: WatchedFind;
  readonly problems: string[] = [];
  events = 0;
  cuts = 0;
  resets = 0;
  /** How often it came back and went on where it was. */
  resumed = 0;
  readonly #args: Args;
  readonly #client: LiveClient;
  /** The versions that it has, or had. */
  readonly #versions = new Map<string, number>();
  #cameBack = false;
  #isOver = false;

  constructor(args: Args) {
    this.#args = args;
    this.find = args.find;
    this.#client = args.space.client(args.find.query);
    this.#client.onEvent = (event) => this.#check(event);
  }

  /** Watches until the function is called. */
  begin(isUp: () => Promise<unknown>): () => Promise<void> {
    this.#isOver = false;
    const watching = this.#watch(isUp);
    return async () => {
      this.#isOver = true;
      await watching;
    };
  }

  end(): void {
    this.#client.cut();
  }

  /** Empty when it comes to have what a find answers. */
  async difference(): Promise<string> {
    const { space } = this.#args;
    const found = new Map((await space.find(this.find.query)).map((record) => [record.id, record]));
    let wrong: readonly string[] = [];
    for (let at = 0; at < tries; at++) {
      await this.#connect();
      const { records, isReady } = this.#client;
      wrong = differences(records, found);
      if (isReady && wrong.length === 0) return '';
      await sleep(50);
    }
    const last = this.#client.types().slice(-5).join();
    return `${wrong.length} of ${found.size}: ${wrong.slice(0, 3).join('; ')} after ${last}`;
  }

  async #watch(isUp: () => Promise<unknown>): Promise<void> {
    const { random, find } = this.#args;
    while (!this.#isOver) {
      await isUp();
      await this.#connect();
      const what = random(10);
      if (find.isSlow === true) this.#client.pause();
      await sleep(find.isSlow === true ? 500 + random(2500) : random(700));
      this.#client.goOn();
      if (what < 3 && find.isSlow !== true) {
        this.#client.pause();
        await sleep(random(300));
        this.#client.goOn();
      }
      if (what < 7) continue;
      this.cuts++;
      this.#client.cut();
      await sleep(random(400));
    }
    this.#client.goOn();
  }

  /** Unless it is. */
  async #connect(): Promise<void> {
    const { server, random } = this.#args;
    if (this.#client.isOpen) return;
    const { baseUrl } = server();
    const isNew = random(4) === 0 || this.#client.lastEventId === '';
    this.#cameBack = !isNew;
    if (isNew) this.#versions.clear();
    try {
      const status = await (isNew ? this.#client.open(baseUrl) : this.#client.comeBack(baseUrl));
      if (status !== 200) this.#problem(`answered with ${status}`);
    } catch {
      // the server is gone
    }
  }

  #check({ type, data }: LiveEvent): void {
    this.events++;
    if (type === 'ready') {
      if (this.#cameBack) this.resumed++;
      this.#cameBack = false;
    }
    if (type === 'reset') {
      this.resets++;
      this.#cameBack = false;
      this.#versions.clear();
    }
    const isRecord = type === 'enter' || type === 'change';
    for (const record of isRecord ? [data] : type === 'snapshot' ? (data as unknown[]) : [])
      this.#checkRecord(type, record as LiveRecord);
  }

  #checkRecord(type: string, record: LiveRecord): void {
    const { id } = record;
    const version = record.version as number;
    const had = this.#versions.get(id) ?? 0;
    if (version < had) this.#problem(`${type} of ${id}: ${version} after ${had}`);
    this.#versions.set(id, version);
    if (!this.find.isIn(record)) this.#problem(`${type} of another record: ${JSON.stringify(record)}`);
    if (this.find.isPart === true) return;
    const key = `${id} ${version}`;
    const text = JSON.stringify(record);
    const before = this.#args.seen.get(key) ?? text;
    this.#args.seen.set(key, before);
    if (before !== text) this.#problem(`${type} of ${text}: others have ${before}`);
  }

  #problem(text: string): void {
    if (this.problems.length < mostProblems) this.problems.push(text.replaceAll(/p{9,}/g, '...'));
  }
}

function differences(
  has: ReadonlyMap<string, LiveRecord>,
  wanted: ReadonlyMap<string, LiveRecord>,
): readonly string[] {
  const wrong: string[] = [];
  for (const id of new Set([...has.keys(), ...wanted.keys()])) {
    const [one, other] = [has.get(id), wanted.get(id)].map((record) => JSON.stringify(record) ?? 'nothing');
    if (one !== other) wrong.push(`${one?.slice(0, 200)} in place of ${other?.slice(0, 200)}`);
  }
  return wrong;
}
