#!/usr/bin/env -S UV_THREADPOOL_SIZE=16 MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=524288 node
/** The command of the package: `sluice` runs the server, and `sluice token` is `npm run token` of a checkout. */
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failStart } from '#process/lifecycle/command-line.ts';

const help = `
Usage: sluice [COMMAND] [OPTIONS]

  start       serves uploads and records on one port; the default
  gateway     serves uploads and downloads alone
  query       serves records alone
  token       makes, lists or revokes access tokens
  export      fetches whole projects of a running server into a folder or a bucket
  import      makes projects on a running server from an export, or compares them
  load        loads a server with a mix of requests, and says how long they took
  types       writes the record spaces of a project as types for sluice-client
  rules       says what strangers and users may do with records
  janitor     cleans up after interrupted uploads
  quarantine  lists or publishes files that the virus scanner holds back
  bucket      checks what browsers and direct uploads need of the bucket, and sets it
  sql-views   makes a view of each record space, for SQL
  move-space  moves a record space to another ClickHouse store

COMMAND --help says more. Settings are environment variables: see docs/configuration.md.
`;

const scripts: Readonly<Record<string, string>> = {
  start: '../main',
  gateway: '../gateway/main',
  query: '../query/main',
  token: 'token',
  export: 'export',
  import: 'import',
  load: 'load',
  types: 'types',
  rules: 'rules',
  janitor: 'janitor',
  quarantine: 'quarantine',
  bucket: 'bucket',
  'sql-views': 'sql-views',
  'move-space': 'move-space',
};

const [command = 'start', ...options] = process.argv.slice(2);
if (command === '--help' || command === '-h') {
  process.stdout.write(help.trimStart());
} else if (Object.hasOwn(scripts, command)) {
  const script = new URL(`${scripts[command]}${extname(import.meta.url)}`, import.meta.url);
  // as if the file had been started directly, because WORKERS restarts argv[1]
  process.argv.splice(1, process.argv.length, fileURLToPath(script), ...options);
  await import(script.href);
} else {
  failStart(new Error(`there is no command ${JSON.stringify(command)}; sluice --help lists them`));
}
