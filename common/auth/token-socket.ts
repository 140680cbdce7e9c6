import { createHash } from 'node:crypto';
import { chmod, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../log/log.ts';
import { type TokenDesk, type TokenOrder, TokenOrderError } from './issue-token.ts';

/** Longest path that a Unix socket address holds on every platform we run on, in bytes. */
const longestSocketPath = 100;
const orderBytes = 16 * 1024;
const timeout = 10_000;

/** Where the server of a data directory takes orders for tokens from this machine's user. */
export function tokenSocketPath(dataDir: string): string {
  const path = join(dataDir, 'control.sock');
  if (Buffer.byteLength(path) <= longestSocketPath) return path;
  const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return join(tmpdir(), `sluice-${process.getuid?.() ?? 0}-${digest}.sock`);
}

/**
 * Lets `npm run token` work while the server holds the data directory. Who may write to the socket file (its owner
 * alone) could read the data directory as well, so no other proof is asked for.
 */
export async function serveTokenSocket(args: {
  dataDir: string;
  desk: TokenDesk;
  log: Log;
}): Promise<{ close(): Promise<void> }> {
  const { desk, log } = args;
  const path = tokenSocketPath(args.dataDir);
  const server = createServer({ requestTimeout: timeout }, (incoming, answer) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > orderBytes) incoming.destroy();
      else chunks.push(chunk);
    });
    incoming.on('error', (error) => log.debug({ err: error }, 'a token order broke off'));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      execute(text).then(
        (result) => answer.writeHead(200).end(result),
        (error: unknown) => {
          const refused = error instanceof TokenOrderError;
          if (!refused) log.error({ err: error }, 'a token order failed');
          answer
            .writeHead(refused ? 400 : 500)
            .end(refused ? error.message : 'the server failed; see its log');
        },
      );
    });
  });
  const execute = async (text: string): Promise<string> => desk.execute(JSON.parse(text) as TokenOrder);
  // the data directory is ours (the engine holds its lock), so a socket file that is there is a leftover
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    const mask = process.umask(0o177);
    server.once('error', reject);
    server.listen(path, () => resolve());
    process.umask(mask);
  });
  await chmod(path, 0o600);
  return {
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(path, { force: true });
    },
  };
}

/** Sends an order to the running server. Answers null when no server runs on the data directory. */
export function sendTokenOrder(dataDir: string, order: TokenOrder): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath: tokenSocketPath(dataDir), method: 'POST', timeout }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (answer.statusCode === 200) resolve(text);
        else reject(new TokenOrderError(text));
      });
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('the server does not answer')));
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(null);
      else reject(error);
    });
    outgoing.end(JSON.stringify(order));
  });
}
