import { setTimeout as sleep } from 'node:timers/promises';
import { historyProblem, type Operation } from './check-history.ts';
import type { QueryAnswer } from './query-harness.ts';
import { spaceOf } from './query-harness.ts';
import { randomFrom } from './random-from.ts';
import { structureOf } from './record-client.ts';
import { seed } from './test-size.ts';

/** A record as its answers show it. */
interface Shown {
  readonly id: string;
  /** Its key, which is unique: there is one record of a key at most. */
  readonly email: string;
  readonly group: string;
  /** Written by one operation only. */
  readonly value: number;
  /** `value` of the insert that made it. */
  readonly origin: number;
}

/** What is stored of one key; null: nothing. */
type Stored = Pick<Shown, 'group' | 'value' | 'origin'> | null;

/** How requests reach a service; answers that never came are null. */
export type Send = (
  ...call: Parameters<Parameters<typeof spaceOf>[0]['call']>
) => Promise<QueryAnswer | null>;

export interface HistoryOptions {
  /** One for each process; a worker keeps to one. */
  readonly processes: readonly Send[];
  readonly operations: number;
  readonly seed: number;
  readonly slug: string;
  /** Of all operations: enough that many reads meet a write, and few enough that many are answered from a cache. */
  readonly writeShare?: number | (() => number);
  /** Of all writes; the others insert and delete. */
  readonly updateShare?: number;
  readonly keys?: number;
  readonly workers?: number;
  /** Called with the share that is done. */
  readonly onProgress?: (share: number) => void;
  /** Milliseconds that a worker waits between two operations. */
  readonly pause?: number;
}

export interface RecordedHistory {
  /** What is wrong, a line for each record of which something is. */
  readonly problems: readonly string[];
  readonly reads: number;
  readonly writes: number;
  /** Writes of which nobody knows whether they were made. */
  readonly unknown: number;
  /** Answers by operation and status. */
  readonly outcomes: ReadonlyMap<string, number>;
}

/** How many operations of which seed are asked for: HISTORY_OPERATIONS, TEST_SEED, or HISTORIES=full. */
export function requestedHistory(sizes: { readonly usual: number; readonly full: number }): {
  readonly operations: number;
  readonly seed: number;
} {
  const { HISTORY_OPERATIONS, HISTORIES } = process.env;
  const usual = HISTORIES === 'full' ? sizes.full : sizes.usual;
  return { operations: Number(HISTORY_OPERATIONS ?? usual), seed };
}

const groups = ['a', 'b', 'c'];

/**
 * Writes of one record that are under way at once. The check tries every order of what overlaps: with fifteen, which a
 * slow disk brings about among 100,000 operations, it ran out of memory.
 */
const mostOverlapping = 8;

/**
 * Concurrent clients write, read and delete a few records, and what each was answered is checked against some order of
 * all of it, record by record.
 */
export async function recordHistory(options: HistoryOptions): Promise<RecordedHistory> {
  const run = new HistoryRun(options);
  await run.work();
  return run.result();
}

interface Answered {
  readonly answer: QueryAnswer | null;
  readonly start: number;
  readonly end: number;
}

class HistoryRun {
  readonly #options: HistoryOptions;
  readonly #random: () => number;
  readonly #keys: number;
  readonly #spaces: readonly ReturnType<typeof spaceOf>[];
  readonly #histories: Operation<Stored>[][];
  /** Writes of which nobody knows whether they were made. Those with a tag count only when somebody saw it. */
  readonly #unconfirmed: {
    readonly key: number;
    readonly tag: number | null;
    readonly operation: Operation<Stored>;
  }[] = [];
  readonly #seen = new Set<number>();
  /** Ids of the record of a key, as far as somebody was told; null: it may have none. */
  readonly #known: (Pick<Shown, 'id' | 'origin'> | null)[];
  readonly #outcomes = new Map<string, number>();
  /** By key. */
  readonly #writing: number[];
  /** Records that are being deleted: two processes that do so at once may both be answered the record (docs/api.md). */
  readonly #deleting = new Set<number>();
  #next = 1;
  #left: number;
  #reads = 0;
  #writes = 0;
  #unknown = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#random = randomFrom(options.seed);
    this.#keys = options.keys ?? 6;
    this.#left = options.operations;
    this.#histories = Array.from({ length: this.#keys }, () => []);
    this.#known = Array.from({ length: this.#keys }, () => null);
    this.#writing = Array.from({ length: this.#keys }, () => 0);
    const structure = structureOf('p', options.slug, [
      { name: 'email', type: 'TEXT', unique: true },
      { name: 'group', type: 'TEXT' },
      { name: 'value', type: 'NUMBER' },
      { name: 'origin', type: 'NUMBER' },
    ]);
    this.#spaces = options.processes.map((send) =>
      spaceOf({ call: async (call) => (await send(call)) ?? noAnswer }, 'p', options.slug, structure),
    );
  }

  async work(): Promise<void> {
    const { operations, workers = 24, onProgress, pause = 0, writeShare = 0.05 } = this.#options;
    for (let key = 0; key < this.#keys; key++) await this.#insert(this.#spaces[0] as Space, key);
    const work = async (worker: number): Promise<void> => {
      const space = this.#spaces[worker % this.#spaces.length] as Space;
      while (this.#left-- > 0) {
        if (this.#left % 100 === 0) onProgress?.(1 - this.#left / operations);
        const share = typeof writeShare === 'number' ? writeShare : writeShare();
        await (this.#random() < share ? this.#write(space) : this.#read(space));
        if (pause > 0) await sleep(pause);
      }
    };
    await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  }

  result(): RecordedHistory {
    for (const { key, tag, operation } of this.#unconfirmed) {
      if (tag === null || this.#seen.has(tag)) this.#histories[key]?.push(operation);
    }
    const problems = this.#histories.flatMap((history, key) => {
      const problem = historyProblem(history, null, keyOf);
      return problem === null ? [] : [`record ${key}: ${problem}`];
    });
    return {
      problems,
      reads: this.#reads,
      writes: this.#writes,
      unknown: this.#unknown,
      outcomes: this.#outcomes,
    };
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item;
  }

  async #ask(name: string, request: () => Promise<QueryAnswer>): Promise<Answered> {
    const start = performance.now();
    const answer = await request();
    const end = performance.now();
    const outcome = `${name} ${answer === noAnswer ? 'without an answer' : (answer.code ?? answer.status)}`;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
    return { answer: answer === noAnswer ? null : answer, start, end };
  }

  async #write(space: Space): Promise<void> {
    const key = Math.floor(this.#random() * this.#keys);
    const writing = this.#writing[key] ?? 0;
    if (writing === mostOverlapping) return this.#read(space);
    this.#writes++;
    this.#writing[key] = writing + 1;
    await this.#writeKey(space, key);
    this.#writing[key] = (this.#writing[key] ?? 0) - 1;
  }

  async #writeKey(space: Space, key: number): Promise<void> {
    const known = this.#known[key] ?? null;
    const choice = this.#random();
    const { updateShare = 0.8 } = this.#options;
    if (known === null) return this.#insert(space, key);
    if (choice < updateShare) return this.#update(space, key, choice < updateShare / 2 ? known : null);
    // that there is one already is an answer, too
    return this.#random() < 0.25 ? this.#insert(space, key) : this.#delete(space, key, known);
  }

  async #insert(space: Space, key: number): Promise<void> {
    const value = this.#next++;
    const wanted: NonNullable<Stored> = { group: this.#pick(groups), value, origin: value };
    const asked = await this.#ask('insertOne', () => space.insertOne({ ...wanted, email: emailOf(key) }));
    const { answer } = asked;
    // who has the value may be a write that is under way
    if (answer?.code === 'not_unique') return;
    const operation = write(`insert ${value}`, asked, (state) => (state === null ? wanted : undefined));
    if (answer?.status !== 200) return this.#addUnconfirmed(key, value, answer, operation);
    this.#histories[key]?.push(operation);
    this.#learn(key, answer.body as Shown);
  }

  /** @param known null: by its unique value */
  async #update(space: Space, key: number, known: Pick<Shown, 'id' | 'origin'> | null): Promise<void> {
    const value = this.#next++;
    const changes = this.#random() < 0.5 ? { value } : { value, group: this.#pick(groups) };
    const asked = await (known === null
      ? this.#ask('updateOne', () => space.updateOne([['email', emailOf(key)]], changes))
      : this.#ask('updateOneById', () => space.updateOneById(known.id, changes)));
    const { answer } = asked;
    const operation = write(`update ${value}`, asked, (state) =>
      state === null || (known !== null && state.origin !== known.origin)
        ? undefined
        : { ...state, ...changes },
    );
    if (answer?.code === 'no_match') {
      this.#absent(key, asked, known?.origin ?? null);
      // it may have been made, before another process deleted the record
      this.#unconfirmed.push({ key, tag: value, operation: withoutEnd(operation) });
      return;
    }
    // nobody sees its value when another one replaced it, but its group stays
    if (answer?.status !== 200)
      return this.#addUnconfirmed(key, 'group' in changes ? null : value, answer, operation);
    this.#histories[key]?.push(operation);
    this.#show(answer.body as Shown, asked);
    this.#learn(key, answer.body as Shown);
  }

  async #delete(space: Space, key: number, { id, origin }: Pick<Shown, 'id' | 'origin'>): Promise<void> {
    if (this.#deleting.has(origin)) return;
    this.#deleting.add(origin);
    const asked = await this.#ask('deleteOneById', () => space.deleteOneById(id));
    this.#deleting.delete(origin);
    const { answer } = asked;
    const operation = write(`delete ${origin}`, asked, (state) =>
      state?.origin === origin ? null : undefined,
    );
    if (answer?.code === 'no_match') return this.#absent(key, asked, origin);
    if (this.#known[key]?.origin === origin) this.#known[key] = null;
    if (answer?.status !== 200) return this.#addUnconfirmed(key, null, answer, operation);
    this.#histories[key]?.push(operation);
    this.#show(answer.body as Shown, asked);
  }

  async #read(space: Space): Promise<void> {
    this.#reads++;
    const key = Math.floor(this.#random() * this.#keys);
    const known = this.#known[key] ?? null;
    const choice = this.#random();
    if (choice < 0.6) {
      const byId = known !== null && choice < 0.3;
      const query = byId ? [['id', known.id] as const] : [['email', emailOf(key)] as const];
      const asked = await this.#ask('findOne', () => space.findOne(query));
      if (asked.answer?.status !== 200) return;
      if (asked.answer.body === null) this.#absent(key, asked, byId ? known.origin : null);
      else this.#found(asked.answer.body as Shown, asked);
      return;
    }
    if (choice < 0.7) return this.#count(space, key, choice < 0.65);
    const group = this.#pick(groups);
    const descending = { sort: { by: 'value', order: 'desc' } };
    // values are numbers of operations, so the newest ones are beyond it
    const above = Math.max(0, this.#next - 3 * this.#keys);
    const [name, request, missing] = this.#pick<
      readonly [string, () => Promise<QueryAnswer>, ((state: Stored) => boolean) | null]
    >([
      ['find', () => space.find(`group=${group}`), (state) => state?.group !== group],
      ['find, sorted', () => space.find(`group=${group}`, descending), (state) => state?.group !== group],
      [
        'find, above',
        () => space.find(`value[gt]=${above}`),
        (state) => state === null || state.value <= above,
      ],
      ['find, a page', () => space.find('', { pagination: { limit: 3, page: 1 } }), null],
      [
        'find, Or',
        () => space.find('group=a&group=b', { paramRelationship: 'Or' }),
        (state) => state?.group !== 'a' && state?.group !== 'b',
      ],
      ['search', () => space.search('@x', ['email']), (state) => state === null],
    ]);
    const asked = await this.#ask(name, request);
    if (asked.answer?.status !== 200) return;
    const records = asked.answer.body as Shown[];
    for (const record of records) this.#found(record, asked);
    if (missing === null) return;
    const shown = new Set(records.map(({ email }) => email));
    for (let other = 0; other < this.#keys; other++) {
      if (!shown.has(emailOf(other))) {
        this.#histories[other]?.push(read(`${name} without it`, asked, missing));
      }
    }
  }

  /** How many records a key has, and the value of its record. @param byLookup conditions on a unique value alone */
  async #count(space: Space, key: number, byLookup: boolean): Promise<void> {
    const email = emailOf(key);
    if (byLookup) {
      const counted = await this.#ask('count', () => space.count([['email', email]]));
      if (counted.answer?.status !== 200) return;
      const { count } = counted.answer.body as { count: number };
      const holds = (state: Stored): boolean => count === (state === null ? 0 : 1);
      this.#histories[key]?.push(read(`count ${count}`, counted, holds));
      return;
    }
    const body = { where: { email }, values: { n: 'count', sum: { sum: 'value' } } };
    const asked = await this.#ask('aggregate', () => space.aggregate(body));
    if (asked.answer?.status !== 200) return;
    const [{ n, sum }] = asked.answer.body as [{ n: number; sum: number | null }];
    if (sum !== null) this.#seen.add(sum);
    const holds = (state: Stored): boolean =>
      (state?.value ?? null) === sum && n === (state === null ? 0 : 1);
    this.#histories[key]?.push(read(`${n} with ${sum}`, asked, holds));
  }

  /** @param origin null: no record of the key was there; else not the one of this insert */
  #absent(key: number, asked: Answered, origin: number | null): void {
    const holds = (state: Stored): boolean =>
      origin === null ? state === null : state === null || state.origin !== origin;
    this.#histories[key]?.push(read(origin === null ? 'nothing' : `not ${origin}`, asked, holds));
    if (origin === null || this.#known[key]?.origin === origin) this.#known[key] = null;
  }

  /** A read that found it. */
  #found(record: Shown, asked: Answered): void {
    // or its key might have no more writes but inserts, which are not unique
    this.#known[keyOfEmail(record.email)] ??= { id: record.id, origin: record.origin };
    this.#show(record, asked);
  }

  #show({ email, group, value, origin }: Shown, asked: Answered): void {
    this.#seen.add(value).add(origin);
    const holds = (state: Stored): boolean =>
      state !== null && state.value === value && state.group === group && state.origin === origin;
    this.#histories[keyOfEmail(email)]?.push(read(`read ${keyOf({ group, value, origin })}`, asked, holds));
  }

  #learn(key: number, { id, origin }: Shown): void {
    this.#known[key] = { id, origin };
  }

  #addUnconfirmed(
    key: number,
    tag: number | null,
    answer: QueryAnswer | null,
    operation: Operation<Stored>,
  ): void {
    if (answer !== null && answer.status < 500) {
      throw new Error(`${operation.name}: ${answer.status} ${answer.code} ${answer.problems.join()}`);
    }
    this.#unknown++;
    this.#unconfirmed.push({ key, tag, operation: withoutEnd(operation) });
  }
}

type Space = ReturnType<typeof spaceOf>;

const noAnswer: QueryAnswer = { status: 599, code: 'no_answer', problems: [], body: null, text: '' };

function write(
  name: string,
  { start, end }: Answered,
  apply: (state: Stored) => Stored | undefined,
): Operation<Stored> {
  return { kind: 'write', name, start, end, apply };
}

function read(name: string, { start, end }: Answered, holds: (state: Stored) => boolean): Operation<Stored> {
  return { kind: 'read', name, start, end, apply: (state) => (holds(state) ? state : undefined) };
}

function withoutEnd(operation: Operation<Stored>): Operation<Stored> {
  return { ...operation, end: Number.POSITIVE_INFINITY };
}

function keyOf(state: Stored): string {
  return state === null ? 'nothing' : `${state.value} in ${state.group} of ${state.origin}`;
}

const emailOf = (key: number): string => `${key}@x`;
const keyOfEmail = (email: string): number => Number.parseInt(email, 10);
