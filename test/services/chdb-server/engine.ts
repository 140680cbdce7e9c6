import type { Session } from 'chdb';
import { loadChdb, SessionPool } from '../../../common/clickhouse/chdb-sessions.ts';
import { dropped } from './one-node-cluster.ts';

/** Parameters of the HTTP interface that are no settings of the engine embedded here. */
const interfaceOnly =
  /^(query|query_id|insert_deduplication_token|database|default_format|user|password|session_id|session_timeout|session_check|role|wait_end_of_query|buffer_size|compress|decompress|quota_key|readonly|enable_http_compression|add_http_cors_header|send_progress_in_http_headers|cancel_http_readonly_queries_on_client_close|param_.*)$/;

const usualSessions = 8;
const differentSettings = 16;
const queueLimit = 10_000;

/** Sessions of the embedded engine, each with the settings that a request came with. */
export class Engine {
  readonly #pools = new Map<string, SessionPool>();
  readonly #cluster: boolean;
  readonly #sessions: number;
  readonly #open: (setup: readonly string[]) => Session;

  /**
   * @param connectionArgs as on the command line of `clickhouse local`
   * @param sessions for requests with equal settings
   */
  constructor(path: string, connectionArgs: readonly string[] = [], sessions = usualSessions) {
    const chdb = loadChdb();
    this.#cluster = connectionArgs.length > 0;
    this.#sessions = sessions;
    this.#open = (setup) => {
      const session = new chdb.Session(path, { connectionArgs: [...connectionArgs] });
      try {
        for (const statement of setup) session.query(statement);
      } catch (error) {
        session.close();
        throw error;
      }
      return session;
    };
  }

  /** Runs work on a session that nobody else has. Throws the engine's error for a setting or a database it lacks. */
  async with<Result>(params: URLSearchParams, work: (session: Session) => Promise<Result>): Promise<Result> {
    const setup = setupOf(params, this.#cluster);
    const key = setup.join(';');
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      if (this.#pools.size >= differentSettings) throw new Error('too many different settings');
      pool = new SessionPool({
        name: key,
        open: () => this.#open(setup),
        capacity: this.#sessions,
        queueLimit,
      });
      pool.warm();
      this.#pools.set(key, pool);
    }
    const turn = await pool.acquire(undefined);
    try {
      const result = await work(turn.session);
      turn.release();
      return result;
    } catch (error) {
      turn.replace();
      throw error;
    }
  }
}

function setupOf(params: URLSearchParams, cluster: boolean): readonly string[] {
  const text = (value: string): string => `'${value.replace(/[\\']/g, (char) => `\\${char}`)}'`;
  const setup: string[] = [];
  const database = params.get('database');
  if (database !== null) setup.push(`USE \`${database.replace(/[\\`]/g, (char) => `\\${char}`)}\``);
  for (const [name, value] of [...params].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (interfaceOnly.test(name) || (cluster && dropped.has(name))) continue;
    // a name that is none would be a statement of its own
    if (!/^\w+$/.test(name)) throw new Error(`Code: 115. DB::Exception: Unknown setting. (UNKNOWN_SETTING)`);
    setup.push(`SET ${name} = ${text(value)}`);
  }
  return setup;
}
