import { readLimitDefaults } from '#kernel/config/settings.ts';
import { deadlineExceeded } from '#kernel/errors/catalogue.ts';
import type { Cancellation, ClickhouseServer, Statement } from './clickhouse-server.ts';
import { type ClickhouseOptions, ClickhouseStatements, tookTooLong } from './clickhouse-statements.ts';
import type { Database, ReadStatement } from './database.ts';
import { streamSettings, wholeBlockSettings } from './engine-settings.ts';
import { insertTarget } from './insert-target.ts';
import { oneStore } from './store-list.ts';

/** The longest statement before the rows: the server buffers this much of a body to parse it. */
const insertHeadLimit = 64 * 1024;
/** Bytes of a stream to await before the reader gets the first. */
const streamAhead = 64 * 1024;
/** The home of the metadata tables, for statements without one. */
const metadataHome = '';

/** ClickHouse servers with the same data, over their HTTP interface. Sends nothing before the first statement. */
export function openClickhouse(options: ClickhouseOptions): Database {
  const reads = { ...readLimitDefaults, ...options.reads };
  const statements = new ClickhouseStatements(options, reads);
  const { settings, timeout, serverCount } = statements;
  // if there is another server, a small result that breaks off is read again there
  const ahead = serverCount > 1 ? streamAhead : 0;
  const limitOf = (account: string | undefined, own = reads.timeout): number =>
    account === undefined ? timeout : Math.min(timeout, own);

  return {
    replicated: options.replicated ?? false,
    servers: serverCount,
    stores: oneStore(options.url),
    async command({ sql, signal, permit, onEach = false, home = metadataHome }) {
      const statement = { body: sql, settings: { ...settings, wait_end_of_query: 1 }, writes: true };
      if (onEach) await statements.writeOnEach(statement, { signal });
      else await statements.write(statement, { home, signal, permit });
    },
    async rows<Row>({ sql, signal, account, home = metadataHome }: ReadStatement) {
      const limit = limitOf(account);
      const statement = { ...readStatement(sql, settings, limit), account };
      const run = (server: ClickhouseServer, until: Cancellation) => server.run(statement, until);
      const bytes = await statements.within({ home, signal }, run).catch((error: unknown) => {
        throw account !== undefined && tookTooLong(error) ? deadlineExceeded(limit, error) : error;
      });
      const text = bytes.toString('utf8').trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
    },
    async stream({ sql, settings: own = '', timeout: within, format, signal, account, home = metadataHome }) {
      const body = `${sql}${own && ` SETTINGS ${own}`}\nFORMAT ${format}`;
      const statement = { body, settings: { ...settings, ...streamSettings }, writes: false, account };
      const limit = limitOf(account, within);
      const args = { timeout: limit, ahead };
      const stream = (server: ClickhouseServer, until: Cancellation) => server.stream(statement, until, args);
      return statements.within({ home, signal }, stream, limit);
    },
    async insert({ table, columns, types, lines, format, signal, permit, token, home = metadataHome }) {
      // the statement precedes the rows in the body: in the URL it could be too long for a proxy
      const { into, format: usual } = insertTarget(table, columns);
      const own = types === undefined ? format : 'RowBinary';
      const head = Buffer.from(`${into} FORMAT ${own ?? usual}\n`);
      const limits = { max_query_size: insertHeadLimit, wait_end_of_query: 1 };
      const statement = {
        body: [head, lines],
        settings: { ...settings, ...wholeBlockSettings, ...limits, ...tokenSettings(token) },
        writes: true,
      };
      await statements.write(statement, { home, signal, permit });
    },
    async ready(signal) {
      const statement = readStatement('SELECT 1', settings, timeout);
      await statements.within({ home: metadataHome, signal }, (server, until) =>
        server.run(statement, until),
      );
    },
    close: () => statements.close(),
  };
}

function tokenSettings(token: string | undefined): Readonly<Record<string, string | number>> {
  return token === undefined ? {} : { insert_deduplicate: 1, insert_deduplication_token: token };
}

/** A SELECT whose answer is buffered, so that a failure has its own status. */
function readStatement(sql: string, settings: Statement['settings'], timeout: number): Statement {
  return {
    body: `${sql}\nFORMAT JSONEachRow`,
    // a server continues abandoned statements
    settings: { ...settings, wait_end_of_query: 1, max_execution_time: timeout / 1000 },
    writes: false,
  };
}
