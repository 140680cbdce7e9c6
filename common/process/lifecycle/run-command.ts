import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, readConfig } from '#kernel/config/read-config.ts';
import { secretsOf } from '#kernel/config/secrets-of.ts';
import { createLog } from '#kernel/log/log.ts';
import { failStart, helpIfAsked } from './command-line.ts';
import { sendCommand } from './control-socket.ts';
import { openServices, type Services } from './open-services.ts';

/** A command for operators that works with and without a running server. */
interface Command<Order> {
  readonly name: string;
  readonly help: string;
  /** Parses the arguments. Throws if they are invalid. */
  readonly readOrder: () => Order;
  /** How long to wait for an answer of the running server, in milliseconds; absent: a few seconds. */
  readonly timeout?: number | undefined;
  /** Whether to log info lines; absent: only failures go to standard error. */
  readonly informs?: true;
  /** Runs the command in this process, on its own connection to the stores. */
  readonly offline: (services: Services, order: Order) => Promise<string>;
}

/** Runs a command in the running server, or in this process, and prints the text. */
export async function runCommand<Order>(command: Command<Order>): Promise<void> {
  helpIfAsked(command.help);
  try {
    const config = readConfig(process.env);
    const order = command.readOrder();
    const { name, timeout } = command;
    const text = await sendCommand({ dataDir: config.dataDir, command: name, order, timeout });
    process.stdout.write(`${text ?? (await runAlone(command, order, config))}\n`);
  } catch (error) {
    failStart(error);
  }
}

async function runAlone<Order>(
  { offline, informs }: Command<Order>,
  order: Order,
  config: Config,
): Promise<string> {
  const { clickhouse, dataDir, logLevel } = config;
  if (clickhouse === undefined && !existsSync(join(dataDir, 'chdb'))) {
    // opening it would create a new database, so this is probably the wrong directory
    throw new Error(
      `there is no database in ${dataDir}: set DATA_DIR (or CLICKHOUSE_URL) as it is set for the server, or start the server first`,
    );
  }
  const level = logLevel === 'info' && !informs ? 'warn' : logLevel;
  const services = await openServices(config, createLog(level, { secrets: secretsOf(config) }));
  try {
    return await offline(services, order);
  } finally {
    await services.close();
  }
}
