import { randomUUID } from 'node:crypto';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CommandError } from '#kernel/errors/command-error.ts';
import type { Log } from '#kernel/log/log.ts';

/** Longest path of a Unix socket on all supported platforms, in bytes. */
const longestSocketPath = 100;
const orderBytes = 16 * 1024;
const sendTimeout = 10_000;

/** Commands for operators of a running process, by name. Each resolves with the text to print. */
export type Commands = Readonly<Record<string, (order: unknown) => Promise<string>>>;

/** Rejects if there is no such command. */
async function runCommand(commands: Commands, name: string, order: unknown): Promise<string> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw new CommandError(`the running server does not know ${name}`);
  return command(order);
}

/** Each process has a unique socket name, so that none replaces another's socket. */
const newName = (): string => `control-${randomUUID().slice(0, 8)}.sock`;
const socketName = /^control(?:-[0-9a-f]{8})?\.sock$/;

/**
 * The folder of the command sockets of a data directory's processes. If its path is too long, Linux can address the
 * directory by the descriptor of an open file.
 */
async function openFolder(dataDir: string): Promise<{ path: string; close(): Promise<void> }> {
  if (Buffer.byteLength(join(dataDir, newName())) <= longestSocketPath)
    return { path: dataDir, close: async () => {} };
  if (process.platform !== 'linux') throw new Error(`DATA_DIR ${dataDir} is too long for this system`);
  const folder = await open(dataDir);
  return { path: `/proc/self/fd/${folder.fd}`, close: () => folder.close() };
}

async function socketsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => socketName.test(name)).map((name) => join(folder, name));
}

/**
 * Lets commands such as `npm run token` work while the server holds the data directory. Only the
 * owner of the socket file may write to it, and could read the data directory as well, so no further authentication is
 * needed. If several processes share a data directory (with a ClickHouse server), any of them runs the command.
 */
export async function serveControlSocket(args: {
  dataDir: string;
  commands: Commands;
  log: Log;
}): Promise<{ close(): Promise<void> }> {
  const { commands, log } = args;
  const folder = await openFolder(args.dataDir);
  const execute = async (incoming: IncomingMessage): Promise<string> => {
    const order = JSON.parse(await text(incoming)) as unknown;
    return runCommand(commands, (incoming.url ?? '').slice(1), order);
  };
  const server = createServer({ requestTimeout: sendTimeout }, (incoming, answer) => {
    if (!(Number(incoming.headers['content-length']) <= orderBytes)) {
      incoming.destroy();
      return;
    }
    execute(incoming).then(
      (result) => answer.end(result),
      (error: unknown) => {
        const refused = error instanceof CommandError;
        if (!refused) log.error({ err: error }, 'a command failed');
        answer.writeHead(refused ? 400 : 500);
        answer.end(refused ? error.message : 'the server failed; see its log');
      },
    );
  });
  // left by processes that were killed
  for (const path of await socketsIn(folder.path))
    if (!(await isServed(path))) await rm(path, { force: true });
  const path = join(folder.path, newName());
  const before = join(folder.path, `new-${randomUUID().slice(0, 8)}`);
  await listen(server, before);
  // the socket gets its final name only when it accepts connections, so it never looks abandoned
  await rename(before, path);
  return {
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(path, { force: true });
      await folder.close();
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // only its owner may write to it
    const mask = process.umask(0o177);
    server.once('error', reject);
    server.listen(path, resolve);
    process.umask(mask);
  });
}

/** Whether a process listens on the socket; the socket of a dead process refuses connections. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/**
 * Runs a command in the running server. Returns null when no server runs on the data directory.
 * @param timeout milliseconds without an answer
 */
export async function sendCommand(args: {
  dataDir: string;
  command: string;
  order: unknown;
  timeout?: number | undefined;
}): Promise<string | null> {
  const { dataDir, command, order, timeout = sendTimeout } = args;
  let folder: Awaited<ReturnType<typeof openFolder>> | undefined;
  try {
    folder = await openFolder(dataDir);
    for (const path of await socketsIn(folder.path)) {
      const result = await send(path, command, order, timeout).catch(nullIfGone);
      if (result !== null) return result;
    }
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES')
      throw new CommandError(`DATA_DIR ${dataDir} belongs to another user: run this as the server's user`);
    if (code === 'ENOTDIR') throw new CommandError(`DATA_DIR ${dataDir} is not a directory`);
    return nullIfGone(error);
  } finally {
    await folder?.close();
  }
}

/** Null: there is no such directory or socket, or nobody listens. Throws any other error. */
function nullIfGone(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return null;
  throw error;
}

function send(socketPath: string, command: string, order: unknown, timeout: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method: 'POST', path: `/${command}`, timeout }, (answer) => {
      text(answer).then((result) => {
        if (answer.statusCode === 200) resolve(result);
        else reject(new CommandError(result));
      }, reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('the server does not answer')));
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(order));
  });
}
