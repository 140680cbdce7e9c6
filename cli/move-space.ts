/** Moves a record space to another store of CLICKHOUSE_URL while it is in use (docs/clickhouse.md). */
import { parseArgs } from 'node:util';
import { textLiteral } from '#engine/literal.ts';
import { readConfig } from '#kernel/config/read-config.ts';
import { secretsOf } from '#kernel/config/secrets-of.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { createLog } from '#kernel/log/log.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { openServices, type Services } from '#process/lifecycle/open-services.ts';
import { CatalogueVersions } from '#query/space/catalogue-versions.ts';
import { KnownSpaces } from '#query/space/known-spaces.ts';
import { type MoveParts, moveSpace } from '#query/space/move-space.ts';
import { freshnessOf } from '#query/space/spaces-deps.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { cacheShares } from '#records/store/cache-shares.ts';
import { SharedStore } from '#records/store-shared/shared-store.ts';

helpIfAsked(`Moves a record space to another store of CLICKHOUSE_URL. It is read and written meanwhile.

  ${commandLine('move-space', 'PROJECT/SPACE STORE [--user EMAIL]')}

  STORE          host and port of an address of the store
  --user EMAIL   the account, where several have such a space
  --help         this text

It tells its progress. When it is cut off, the space is whole in one of the two stores: run it again.
`);
const stopped = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () =>
    stopped.abort(new CommandError('stopped: run the same command again to continue')),
  );
try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { user: { type: 'string' } },
  });
  const [path = '', store = '', ...rest] = positionals;
  const [project = '', slug = '', ...more] = path.split('/');
  if (project === '' || slug === '' || store === '' || rest.length + more.length > 0)
    throw new CommandError('PROJECT/SPACE and STORE are expected; see --help');
  const config = readConfig(process.env);
  if (config.clickhouse === undefined)
    throw new CommandError('CLICKHOUSE_URL is not set: there is only one store');
  const log = createLog('warn', { secrets: secretsOf(config) });
  const services = await openServices(config, log);
  try {
    await moveSpaceOf(
      services,
      { project, slug, store, email: values.user, report: (text) => process.stdout.write(`${text}\n`) },
      stopped.signal,
    );
  } finally {
    await services.close();
  }
} catch (error) {
  if (stopped.signal.aborted) failStart(stopped.signal.reason);
  failStart(error instanceof ApiError ? new Error(`the move stopped: ${reasonOf(error)}`) : error);
}

interface MoveOrder {
  readonly project: string;
  readonly slug: string;
  /** Host and port of one of its addresses. */
  readonly store: string;
  readonly email: string | undefined;
  readonly report: MoveParts['report'];
}

/** Moves the space with this process's own stores. Throws a CommandError with one sentence. */
async function moveSpaceOf(
  services: Omit<Services, 'close'>,
  order: MoveOrder,
  signal: AbortSignal,
): Promise<void> {
  const { db, invalidation } = services;
  const target = db.stores.all.find(({ hosts }) => hosts.split(',').includes(order.store));
  if (target === undefined) {
    const names = db.stores.all.map(({ name }) => name).join(', ');
    throw new CommandError(`CLICKHOUSE_URL names no store ${order.store}: there are ${names}`);
  }
  if (!target.available) throw new CommandError(`the store ${order.store} does not respond`);
  const catalogue = new TableCatalogue(services);
  const store = SharedStore.open({ ...services, metrics: unmeasured });
  const freshness = freshnessOf(store, invalidation);
  const { descriptions: bytes } = cacheShares(services.config.recordCacheBytes);
  const known = new KnownSpaces({ ...freshness, invalidation, bytes });
  const versions = new CatalogueVersions({ store, catalogue, invalidation, freshness, known });
  const id = await idOf(services, order, signal);
  const { report } = order;
  await moveSpace({ store, catalogue, freshness, versions, report }, { id, store: target.number }, signal);
}

/** The cause behind the text that clients see. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}

async function idOf(
  { db, database }: Pick<Services, 'db' | 'database'>,
  { project, slug, email }: MoveOrder,
  signal: AbortSignal,
): Promise<string> {
  const conditions = [`s.project_slug = ${textLiteral(project)}`, `s.slug = ${textLiteral(slug)}`];
  if (email !== undefined) conditions.push(`u.email = ${textLiteral(email.toLowerCase())}`);
  const sql = `SELECT DISTINCT s.id AS id, u.email AS email
    FROM ${database}.record_spaces AS s INNER JOIN ${database}.users AS u ON u.id = s.owner_id
    WHERE ${conditions.join(' AND ')} ORDER BY email LIMIT 10`;
  const [found, ...others] = await db.rows<{ id: string; email: string }>({ sql, signal });
  if (found === undefined) throw new CommandError('there is no such record space');
  if (others.length === 0) return found.id;
  const emails = [found, ...others].map((space) => space.email).join(', ');
  throw new CommandError(`several accounts have such a space: add --user, one of ${emails}`);
}
