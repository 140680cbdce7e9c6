/** Says, and sets, what a bucket needs so that clients can send files to it directly (docs/uploads.md). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { objectMetadata } from '#gateway/files/object-metadata.ts';
import { type Config, readConfig } from '#kernel/config/read-config.ts';
import { secretsOf } from '#kernel/config/secrets-of.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { createLog, type Log } from '#kernel/log/log.ts';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { sendCommand } from '#process/lifecycle/control-socket.ts';
import { openServices } from '#process/lifecycle/open-services.ts';

helpIfAsked(`
Says what browsers and direct uploads need of the bucket, and what its store was seen to enforce. It sends small
requests to the bucket as a browser and other clients would, and removes what they stored.

  ${commandLine('bucket', '--check [--fix] [--origin https://app.example.com ...]')}

  --check       ends with status 1 where something is missing
  --fix         adds the rules for browsers (CORS), and one that aborts incomplete uploads. Others' rules stay
  --origin URL  of pages that upload, several times for several; without it those of CORS_ORIGINS and PUBLIC_URL

The bucket is that of the server: S3_BUCKET and the other variables of S3. DATA_DIR (./data) or CLICKHOUSE_URL say which
objects in it belong to the server.
`);

function readOrder(config: Config) {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      fix: { type: 'boolean', default: false },
      origin: { type: 'string', multiple: true, default: [] },
    },
  });
  for (const origin of values.origin) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new CommandError(
        `--origin is ${JSON.stringify(origin)}: it should be an origin such as https://app.example.com`,
      );
  }
  const origins = values.origin.length > 0 ? values.origin : usualOrigins(config);
  if (origins.length === 0)
    throw new CommandError('which pages upload? Say --origin https://app.example.com, or set PUBLIC_URL');
  return { check: values.check, fix: values.fix, origins };
}

function usualOrigins({ corsOrigins, publicUrl }: Config): string[] {
  const named = corsOrigins.filter((origin) => origin !== '*');
  return [...new Set([...named, ...(publicUrl === undefined ? [] : [new URL(publicUrl).origin])])];
}

/** What begins the keys of the server's objects; null: the server has never run. */
async function deploymentOf(config: Config, log: Log): Promise<string | null> {
  const { dataDir, clickhouse } = config;
  const told = await sendCommand({ dataDir, command: 'deployment', order: {} });
  if (told !== null) return told;
  if (clickhouse === undefined && !existsSync(join(dataDir, 'chdb'))) return null;
  const services = await openServices(config, log);
  try {
    return services.deployment.id;
  } finally {
    await services.close();
  }
}

const stopped = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stopped.abort(new CommandError('stopped: what it had stored is removed')));
try {
  const config = readConfig(process.env);
  const { s3 } = config;
  if (s3 === undefined)
    throw new CommandError('S3_BUCKET is not set: files are stored in DATA_DIR, not in a bucket');
  const { check, fix, origins } = readOrder(config);
  const log = createLog(config.logLevel === 'info' ? 'error' : config.logLevel, {
    secrets: secretsOf(config),
  });
  const deploymentId = await deploymentOf(config, log);
  // the client of S3 is only loaded where it is used
  const { checkBucket } = await import('#objects/s3/bucket-check/check-bucket.ts');
  const { bucketText, isFit } = await import('#objects/s3/bucket-check/bucket-text.ts');
  const redirects = config.downloads === 'redirect';
  const order = {
    ...{ fix, origins, deploymentId, staleAfter: config.janitorStaleAfter, redirects },
    metadata: Object.keys(
      objectMetadata({ id: '', originalName: '', ownerId: '', owner: '', projectSlug: '' }),
    ),
  };
  const report = await checkBucket(s3, { order, log, signal: stopped.signal });
  const fixCommand = commandLine('bucket', '--fix');
  process.stdout.write(`${bucketText(report, { fix, fixCommand })}\n`);
  if ((check || fix) && !isFit(report)) process.exitCode = 1;
} catch (error) {
  const { problem } = error instanceof StoreUnavailable ? error : {};
  const explained = problem === undefined ? error : new CommandError(problem, { cause: error });
  failStart(stopped.signal.aborted ? stopped.signal.reason : explained);
}
