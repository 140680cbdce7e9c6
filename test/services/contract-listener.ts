import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SeenAnswer, wholeContract } from './contract.ts';
import { decode } from './decode.ts';

/** Milliseconds for what a process that is gone has said to be read. */
const lastWords = 5000;
const shownProblems = 5;

/** Hears of the answers of a server in another process, and holds them against the description of the API. */
export interface ContractListener {
  /** What the process needs to be told. */
  readonly env: Readonly<Record<string, string>>;
  /** Modules that it loads before anything else. */
  readonly preloads: readonly string[];
  /** To be called when the process is gone. Rejects when an answer was not as described. */
  end(): Promise<void>;
}

/** @param written bytes as they were written */
function plainText(written: string, { headers }: SeenAnswer): string {
  const bytes = Buffer.from(written, 'latin1');
  return String(decode(bytes, headers['content-encoding']));
}

export async function listenForContract(): Promise<ContractListener> {
  const contract = await wholeContract();
  const directory = mkdtempSync(join(tmpdir(), 'sluice-contract-'));
  const path = join(directory, 'socket');
  const sockets = new Set<Socket>();
  const problems: string[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.unref();
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    createInterface({ input: socket }).on('line', (line) => {
      const problem = checked(line);
      if (problem !== null) problems.push(problem);
    });
  });
  const checked = (line: string): string | null => {
    try {
      const answer = JSON.parse(line) as SeenAnswer;
      return contract.problemOf({ ...answer, body: answer.body && plainText(answer.body, answer) });
    } catch (error) {
      // a line that a killed process did not finish
      return line.endsWith('}') ? String(error) : null;
    }
  };
  await new Promise<void>((resolve) => server.listen(path, resolve));
  server.unref();
  let over: Promise<void> | null = null;
  return {
    env: { SLUICE_CONTRACT_SOCKET: path },
    preloads: ['test/services/contract-preload.ts'],
    end() {
      over ??= (async () => {
        const until = Date.now() + lastWords;
        while (sockets.size > 0 && Date.now() < until) await sleep(10);
        server.close();
        rmSync(directory, { recursive: true, force: true });
        if (problems.length === 0) return;
        const shown = problems.slice(0, shownProblems).join('\n');
        throw new Error(`${problems.length} answers are not as /openapi.json says:\n${shown}`);
      })();
      return over;
    },
  };
}
