import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePorts } from './free-port.ts';
import { watchChild } from './watch-child.ts';

/** A ClickHouse server in a process of its own, which ends with ours. */
export interface ClickhouseProcess {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  /** SIGKILL; the data stays. */
  kill(): Promise<void>;
  /** Starts it anew on the same data, at the same address. @param other options than before */
  restart(other?: ClickhouseProcessOptions): Promise<ClickhouseProcess>;
  /** SIGKILL, and removes the data. */
  close(): Promise<void>;
}

export interface ClickhouseProcessOptions {
  readonly dataDir?: string;
  readonly port?: number;
  /** An account that may do everything, beside `default`, which has no password and is for this machine. */
  readonly user?: string;
  readonly password?: string;
  /** XML beside ours, as config.d has it, without its root. */
  readonly config?: string;
  /** XML of further accounts, profiles and quotas, as users.xml has it. */
  readonly access?: { readonly users?: string; readonly profiles?: string; readonly quotas?: string };
  /** Folder into which `BACKUP ... TO File` may write. */
  readonly backups?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The server lives as long as this query: it sleeps forever. */
const forever = `SELECT sleepEachRow(1) FROM system.numbers
  SETTINGS max_block_size = 1, max_execution_time = 0, function_sleep_max_microseconds_per_block = 0 FORMAT Null`;

/** Tests run several at once on few cores. */
const small = `<mark_cache_size>67108864</mark_cache_size><background_pool_size>2</background_pool_size>
  <background_schedule_pool_size>4</background_schedule_pool_size><background_fetches_pool_size>1</background_fetches_pool_size>
  <background_common_pool_size>2</background_common_pool_size><background_move_pool_size>1</background_move_pool_size>
  <merge_tree><number_of_free_entries_in_pool_to_execute_mutation>1</number_of_free_entries_in_pool_to_execute_mutation>
  <number_of_free_entries_in_pool_to_lower_max_size_of_merge>1</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
  <number_of_free_entries_in_pool_to_execute_optimize_entire_partition>1</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
  </merge_tree>`;

export async function startClickhouse(options: ClickhouseProcessOptions = {}): Promise<ClickhouseProcess> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'sluice-clickhouse-')));
  const port = options.port ?? (await freePorts(1));
  await mkdir(join(dataDir, 'data'), { recursive: true });
  await writeFile(join(dataDir, 'config.xml'), configOf(options, { dataDir, port }));
  await writeFile(join(dataDir, 'users.xml'), usersOf(options));
  const args = [
    'clickhouse',
    `--config-file=${join(dataDir, 'config.xml')}`,
    `--path=${join(dataDir, 'data')}`,
    `--query=SYSTEM START LISTEN HTTP; ${forever}`,
  ];
  const script = join(import.meta.dirname, 'clickhouse-process.mjs');
  const child = spawn(process.execPath, [script, JSON.stringify([libraryPath(), ...args])], {
    cwd: dataDir,
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const watched = watchChild(child, 'the ClickHouse server');
  const url = `http://127.0.0.1:${port}`;
  await watched.untilReady(async () => (await fetch(`${url}/ping`)).ok);
  const kill = async (): Promise<void> => void (await watched.end('SIGKILL'));
  return {
    url,
    pid: child.pid as number,
    dataDir,
    kill,
    async restart(other = {}) {
      await kill();
      return startClickhouse({ ...options, ...other, dataDir, port });
    },
    async close() {
      await kill();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The library of the package for this platform. */
function libraryPath(): string {
  const { resolve } = createRequire(import.meta.url);
  const { optionalDependencies } = JSON.parse(readFileSync(resolve('chdb/package.json'), 'utf8')) as {
    readonly optionalDependencies: object;
  };
  const platform = `-${process.platform}-${process.arch}`;
  const name = Object.keys(optionalDependencies).find((one) => one.includes(platform));
  return join(dirname(resolve(`${name}/package.json`)), 'libchdb.so');
}

function configOf(
  { config = '', backups }: ClickhouseProcessOptions,
  { dataDir, port }: { readonly dataDir: string; readonly port: number },
): string {
  const data = join(dataDir, 'data');
  return `<clickhouse><listen_host>127.0.0.1</listen_host><http_port>${port}</http_port>
    <path>${data}/</path><tmp_path>${data}/tmp/</tmp_path><users_config>${join(dataDir, 'users.xml')}</users_config>
    ${backups === undefined ? '' : `<backups><allowed_path>${backups}</allowed_path></backups>`}
    ${small}${config}</clickhouse>`;
}

function usersOf({ user, password = '', access = {} }: ClickhouseProcessOptions): string {
  const rights = `<profile>default</profile><quota>default</quota><networks><ip>127.0.0.1</ip></networks>
    <access_management>1</access_management>`;
  const hash = createHash('sha256').update(password).digest('hex');
  const own =
    user === undefined
      ? ''
      : `<${user}>${rights}<password_sha256_hex>${hash}</password_sha256_hex></${user}>`;
  return `<clickhouse><profiles><default/>${access.profiles ?? ''}</profiles>
    <quotas><default/>${access.quotas ?? ''}</quotas>
    <users><default>${rights}<password/></default>${own}${access.users ?? ''}</users></clickhouse>`;
}
