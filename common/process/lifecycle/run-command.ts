import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, readConfig } from '#kernel/config/read-config.ts';
import { secretsOf } from '#kernel/config/secrets-of.ts';
import { createLog } from '#kernel/log/log.ts';
import { failStart, helpIfAsked } from './command-line.ts';
import { sendCommand } from './control-socket.ts';
import { openServices, type Services } from './open-services.ts';

/** A command of the operator that works whether the server runs or not. */
interface Command<Order> {
  readonly name: string;
  readonly help: string;
  /** Reads the order from the arguments. Throws their problem. */
  readonly readOrder: () => Order;
  /** Milliseconds without an answer of the running server; absent: a few seconds. */
  readonly timeout?: number | undefined;
  /** The log shows info lines to the operator; absent: standard error is for failures. */
  readonly informs?: true;
  /** The server's work, on the stores of a process of its own. */
  readonly offline: (services: Services, order: Order) => Promise<string>;
}

/** Has the running server carry out a command, or does so itself, and prints the text. */
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
    // it would make a new database instead of finding one: it is in the wrong place
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
