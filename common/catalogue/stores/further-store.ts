import type { Database } from '#engine/database.ts';
import { isServerFailure, StatementError } from '#engine/engine-failure.ts';
import { ServerHealth } from '#engine/server-health.ts';
import type { StoreState } from '#engine/store-list.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { databaseUnavailable } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import { migrate } from '../migrate.ts';
import {
  type RegisteredStore,
  readFacts,
  readIdentity,
  type StoreFacts,
  type StoreRegistry,
  storeMigrations,
  writeIdentity,
} from './store-tables.ts';

/** An opened store that is not identified yet. */
export interface OpenedStore {
  readonly name: string;
  /** Comma-separated hosts of all its addresses. */
  readonly hosts: string;
  readonly db: Database;
}

interface FurtherStoreDeps {
  readonly database: string;
  readonly registry: StoreRegistry;
  /** The id of this deployment. */
  readonly deployment: string;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** How often an unavailable store is probed. Milliseconds, like the others. */
const times = { firstPause: 500, longestPause: 1000, probeLimit: 10_000 };
/** How often an available store is checked. */
export const checkEvery = 300_000;
/** A number is three hexadecimal digits of an id of records. */
const mostStores = 1023;

/** A store that does not belong to the others: the process does not start with it. */
export class StoreMismatch extends Error {}

/**
 * A store other than the first: a shard with only records. A table in it holds its deployment and number, so its
 * addresses may change. While it is down its spaces answer 503; it is checked again before it is used.
 */
export class FurtherStore implements StoreState {
  readonly name: string;
  readonly hosts: string;
  readonly db: Database;
  readonly #deps: FurtherStoreDeps;
  readonly #health: ServerHealth;
  #number: number | null = null;
  #migrated = false;
  #problem = '';

  constructor(opened: OpenedStore, deps: FurtherStoreDeps) {
    const { name, hosts, db } = opened;
    this.name = name;
    this.hosts = hosts;
    this.db = db;
    this.#deps = deps;
    this.#health = new ServerHealth({
      probe: (signal) => this.#check(signal).then(() => 'well'),
      times,
      changed(usable, err) {
        if (usable) deps.log.info({ store: name }, 'a ClickHouse store is back');
        else deps.log.warn({ store: name, err }, 'a ClickHouse store is away: its spaces answer 503');
      },
    });
  }

  get number(): number {
    if (this.#number === null) throw new Error(`the store ${this.name} has no number yet`);
    return this.#number;
  }

  get available(): boolean {
    return this.#health.usable;
  }

  /** Throws when the store belongs to another deployment, or is new and does not respond. */
  async join(known: readonly RegisteredStore[], signal: AbortSignal): Promise<void> {
    try {
      await this.#check(signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const mine = known.find(({ hosts }) => sharesHost(hosts, this.hosts));
      if (mine === undefined)
        throw new StoreMismatch(`the store ${this.name} does not answer, and was not used before`, {
          cause: error,
        });
      this.#number = mine.number;
      this.#health.setAside(error);
    }
  }

  /** Runs work on the store. Throws 503 while it is down. */
  async use<Result>(work: (db: Database) => Promise<Result>): Promise<Result> {
    if (!this.available) throw databaseUnavailable(new Error(`the store ${this.name} is away`));
    try {
      return await work(this.db);
    } catch (error) {
      const { cause } = error as Error;
      if (isServerFailure(error) && !(cause instanceof StatementError)) this.#health.setAside(error);
      throw error;
    }
  }

  /** Checks that the store is the expected one, and records that in both stores. */
  async verify(signal: AbortSignal): Promise<void> {
    if (!this.available) return;
    await this.#check(signal).catch((error: unknown) => this.#health.setAside(error));
  }

  /** Records in the store, and then in the registry, that they belong together now. */
  async #mark(signal: AbortSignal): Promise<void> {
    const { database, registry, deployment } = this.#deps;
    const own = { number: this.number, mark: Date.now() };
    const identity = { ...own, deployment };
    await writeIdentity(this.db, database, identity, { signal });
    await registry.write({ ...own, hosts: this.hosts }, { signal });
  }

  async close(): Promise<void> {
    this.#health.close();
    await this.db.close();
  }

  /** Checks that the store is the registered one, and has not been set back. */
  async #check(signal: AbortSignal): Promise<void> {
    const { database, deployment, registry } = this.#deps;
    try {
      const facts = await readFacts(this.db, database, signal);
      if (facts.deployment !== undefined || (facts.hasRecords && facts.identity === null))
        throw this.#foreign(facts);
      if (!this.#migrated) await migrate(this.db, database, storeMigrations);
      this.#migrated = true;
      const identity = facts.identity ?? (await this.#claim(signal));
      if (identity.deployment !== deployment) throw this.#foreign({ ...facts, identity });
      if (this.#number !== null && this.#number !== identity.number)
        throw new StoreMismatch(
          `the store ${this.name} is another one than it was: it was number ${this.#number}, and is ${identity.number}`,
        );
      const known = (await registry.read(signal)).find(({ number }) => number === identity.number);
      if (known !== undefined && known.mark > identity.mark) await this.#assertNotSetBack(known.mark, signal);
      this.#number = identity.number;
      await this.#mark(signal);
      this.#problem = '';
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  /** Another process may have noted both meanwhile, the store first: so its note is read after that of the registry. */
  async #assertNotSetBack(mark: number, signal: AbortSignal): Promise<void> {
    const { mark: newest = 0 } = (await readIdentity(this.db, this.#deps.database, signal)) ?? {};
    if (mark > newest)
      throw new StoreMismatch(
        `the store ${this.name} has older data than it had: its newest note is of ${timeOf(newest)}, and that of the first store is of ${timeOf(mark)}. Was it set back to a backup?`,
      );
  }

  /** Logs a persistent reason only once. */
  #note(error: unknown): void {
    if (!(error instanceof StoreMismatch) || error.message === this.#problem) return;
    this.#problem = error.message;
    this.#deps.log.warn({ store: this.name, err: error }, 'a ClickHouse store is not used');
  }

  #foreign({ deployment, identity }: Pick<StoreFacts, 'deployment' | 'identity'>): StoreMismatch {
    const { database } = this.#deps;
    if (deployment === this.#deps.deployment)
      return new StoreMismatch(`the store ${this.name} is the first store under another address`);
    const whose =
      deployment !== undefined || identity !== null
        ? 'belongs to another deployment'
        : 'has records of unknown origin';
    return new StoreMismatch(`the database ${database} of the store ${this.name} ${whose}: use an empty one`);
  }

  /** Assigns a number to an empty store. Several processes may do so at once. */
  async #claim(signal: AbortSignal) {
    const { database, registry, deployment } = this.#deps;
    const number = await this.#takeNumber(signal);
    const identity = { number, deployment, mark: Date.now() };
    await writeIdentity(this.db, database, identity, { first: true, signal });
    const taken = await readIdentity(this.db, database, signal);
    if (taken === null)
      throw databaseUnavailable(new Error(`the store ${this.name} did not keep its number`));
    // another process was first, with another number
    if (taken.number !== number) await registry.write({ number, hosts: '', mark: Date.now() }, { signal });
    return taken;
  }

  async #takeNumber(signal: AbortSignal): Promise<number> {
    const { registry } = this.#deps;
    for (;;) {
      const known = await registry.read(signal);
      const number = Math.max(0, ...known.map((store) => store.number)) + 1;
      if (number > mostStores) throw new StoreMismatch(`a deployment has at most ${mostStores} stores`);
      await registry.write({ number, hosts: this.hosts, mark: 0 }, { fresh: true, signal });
      const taken = (await registry.read(signal)).find((store) => store.number === number);
      if (taken?.hosts === this.hosts) return number;
    }
  }
}

function sharesHost(one: string, other: string): boolean {
  const hosts = new Set(one.split(','));
  return other.split(',').some((host) => hosts.has(host));
}

function timeOf(mark: number): string {
  return new Date(mark).toISOString();
}
