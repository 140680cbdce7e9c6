import type {
  Database,
  InsertStatement,
  ReadStatement,
  StreamStatement,
  WriteStatement,
} from '#engine/database.ts';
import { storeOf } from '#engine/home.ts';
import { HomeOrder } from '#engine/home-order.ts';
import type { StoreList, StoreState } from '#engine/store-list.ts';
import { databaseUnavailable } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import { checkEvery, FurtherStore, type OpenedStore, StoreMismatch } from './further-store.ts';
import { readFacts, type StoreFacts, StoreRegistry } from './store-tables.ts';

/** Deadline for the queries to all stores at start. Milliseconds. */
const startTimeout = 30_000;
const checkTimeout = 10_000;

/** The state of the first store: without it the process isn't ready. */
interface FirstStore extends OpenedStore, StoreState {}

/**
 * Several stores as the shards of one database. A statement goes to the store in its home, by default to the first.
 * No statement spans two stores.
 */
export class ClickhouseStores implements Database, StoreList {
  readonly replicated: boolean;
  readonly servers: number;
  readonly stores: StoreList = this;
  readonly #first: FirstStore;
  readonly #opened: readonly OpenedStore[];
  readonly #log: Pick<Log, 'warn' | 'info'>;
  #further: readonly FurtherStore[] = [];
  #order: HomeOrder<{ readonly url: string; readonly state: StoreState }>;
  #checking: NodeJS.Timeout | undefined;

  /**
   * Finds the first store: the store with the accounts, wherever it is in the list. If no store has accounts, the
   * deployment is new, and the first of the list becomes it. Throws an Error with a sentence for the operator.
   */
  static async open(
    opened: readonly OpenedStore[],
    { database, log }: { readonly database: string; readonly log: Pick<Log, 'warn' | 'info'> },
    away: ReadonlySet<OpenedStore>,
  ): Promise<ClickhouseStores> {
    const signal = AbortSignal.timeout(startTimeout);
    const facts = new Map<OpenedStore, StoreFacts>();
    for (const store of opened)
      if (!away.has(store)) facts.set(store, await readFacts(store.db, database, signal));
    const withAccounts = opened.filter((store) => facts.get(store)?.deployment !== undefined);
    const [found, other] = withAccounts;
    if (
      found !== undefined &&
      other !== undefined &&
      facts.get(found)?.deployment !== facts.get(other)?.deployment
    )
      throw new StoreMismatch(
        `the stores ${found.name} and ${other.name} of CLICKHOUSE_URL are the first stores of two deployments`,
      );
    const [unused] = opened.filter((store) => facts.get(store)?.identity === null);
    if (found === undefined && away.size > 0)
      throw new StoreMismatch(
        `the store ${[...away].map(({ name }) => name).join(', ')} does not answer, and none of the others has the accounts`,
      );
    const first = found ?? unused;
    if (first === undefined || facts.get(first)?.identity !== null)
      throw new StoreMismatch(
        `the database ${database} of ${opened.map(({ name }) => name).join(', ')} belongs to a deployment whose first store CLICKHOUSE_URL does not name`,
      );
    return new ClickhouseStores(first, opened, log);
  }

  private constructor(first: OpenedStore, opened: readonly OpenedStore[], log: Pick<Log, 'warn' | 'info'>) {
    this.#first = { ...first, number: 0, available: true };
    this.#opened = opened;
    this.#log = log;
    this.replicated = first.db.replicated;
    this.servers = Math.max(...opened.map(({ db }) => db.servers));
    this.#order = this.#orderOf();
  }

  /** Identifies the stores. Called when the first store's tables are up to date. Throws an Error with a sentence for the operator. */
  async join(deployment: string, database: string): Promise<void> {
    const others = this.#opened.filter(({ db }) => db !== this.#first.db);
    const signal = AbortSignal.timeout(startTimeout);
    const registry = new StoreRegistry(this.#first.db, database);
    const further: FurtherStore[] = [];
    for (const opened of others) {
      const store = new FurtherStore(opened, { database, deployment, registry, log: this.#log });
      await store.join(await registry.read(signal), signal);
      const twin = further.find(({ number }) => number === store.number);
      if (twin !== undefined)
        throw new StoreMismatch(`CLICKHOUSE_URL names one store twice: ${twin.name} and ${store.name}`);
      further.push(store);
    }
    this.#further = further;
    this.#order = this.#orderOf();
    await this.#assertComplete(registry, signal);
    if (further.length > 0) this.#checking = setInterval(() => void this.#check(), checkEvery).unref();
  }

  get all(): readonly StoreState[] {
    return [this.#first, ...this.#further];
  }

  choose(key: string): number {
    const order = this.#order.of(key);
    return (order.find(({ state }) => state.available) ?? order[0])?.state.number ?? 0;
  }

  command(statement: WriteStatement): Promise<void> {
    return this.#at(statement, (db) => db.command(statement));
  }

  rows<Row>(statement: ReadStatement): Promise<Row[]> {
    return this.#at(statement, (db) => db.rows<Row>(statement));
  }

  stream(statement: StreamStatement): Promise<AsyncIterable<Uint8Array>> {
    return this.#at(statement, (db) => db.stream(statement));
  }

  insert(statement: InsertStatement): Promise<void> {
    return this.#at(statement, (db) => db.insert(statement));
  }

  ready(signal?: AbortSignal): Promise<void> {
    return this.#first.db.ready(signal);
  }

  async close(): Promise<void> {
    clearInterval(this.#checking);
    for (const store of this.#further) await store.close();
    const taken = new Set(this.#further.map(({ db }) => db));
    for (const { db } of this.#opened) if (!taken.has(db)) await db.close();
  }

  #at<Result>(
    { home }: { readonly home?: string | undefined },
    work: (db: Database) => Promise<Result>,
  ): Promise<Result> {
    const number = storeOf(home);
    if (number === 0) return work(this.#first.db);
    const store = this.#further.find((one) => one.number === number);
    if (store === undefined)
      return Promise.reject(
        databaseUnavailable(new Error(`CLICKHOUSE_URL does not name the store number ${number}`)),
      );
    return store.use(work);
  }

  /** Each key has its own order of the store numbers, because names and addresses may change. */
  #orderOf() {
    return new HomeOrder(this.all.map((state) => ({ url: `store ${state.number}`, state })));
  }

  async #assertComplete(registry: StoreRegistry, signal: AbortSignal): Promise<void> {
    const here = new Set(this.#further.map(({ number }) => number));
    const missing = (await registry.used(signal)).filter(({ number }) => !here.has(number));
    if (missing.length === 0) return;
    const known = await registry.read(signal);
    const texts = missing.map(({ number, count, some }) => {
      const hosts = known.find((store) => store.number === number)?.hosts || `number ${number}`;
      const more = count > some.length ? ` and ${count - some.length} more` : '';
      return `the store ${hosts}, in which ${some.join(', ')}${more} lie`;
    });
    throw new StoreMismatch(`CLICKHOUSE_URL does not name ${texts.join('; nor ')}`);
  }

  async #check(): Promise<void> {
    for (const store of this.#further) await store.verify(AbortSignal.timeout(checkTimeout));
  }
}
