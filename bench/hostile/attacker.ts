import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from '#kernel/limits/deadline.ts';

/** What a hostile account does until the end of the phase. */
export type Case = (attacker: Attacker) => Promise<void>;

/** A running hostile case, with its own account. */
export class Attacker {
  readonly url: string;
  readonly authorization: string;
  readonly signal: AbortSignal;
  /** How often each outcome occurred: a status, or how a connection ended. */
  readonly outcomes: Record<string, number> = {};

  constructor(args: { url: string; token: string; signal: AbortSignal }) {
    this.url = args.url;
    this.authorization = `Bearer ${args.token}`;
    this.signal = args.signal;
  }

  count(outcome: string | number): void {
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1;
  }

  /** Milliseconds; less at the end of the phase. */
  async pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.signal }).catch(() => {});
  }

  /** Repeats something, this many at a time, until the end of the phase. @param pause milliseconds after each */
  async keep(many: number, pause: number, work: () => Promise<void>): Promise<void> {
    const one = async (): Promise<void> => {
      await this.pause(Math.random() * pause);
      while (!this.signal.aborted) {
        await work().catch(() => {
          if (!this.signal.aborted) this.count('cut off');
        });
        await this.pause(pause);
      }
    };
    await Promise.all(Array.from({ length: many }, one));
  }

  /** Sends a request, and drops its answer. @param authorization null: none */
  async ask(
    path: string,
    init: RequestInit & { headers?: Record<string, string> } = {},
    authorization: string | null = this.authorization,
  ): Promise<void> {
    const headers = { ...(authorization === null ? {} : { authorization }), ...init.headers };
    await withDeadline(this.signal, 120_000, async ({ signal }) => {
      const answer = await fetch(this.url + path, { ...init, headers, signal });
      this.count(answer.status);
      await answer.arrayBuffer();
    });
  }

  /** A request written byte by byte. @returns a function that ends its connection */
  open(head: readonly string[], authorization = this.authorization): Socket {
    const { hostname, port } = new URL(this.url);
    const socket = connect(Number(port), hostname);
    // the outcome is counted when the connection ends
    socket.on('error', () => {});
    socket.write([...head, 'Host: hostile', `Authorization: ${authorization}`, '', ''].join('\r\n'));
    this.signal.addEventListener('abort', () => socket.destroy(), { once: true });
    return socket;
  }

  /** Waits until the connection ends, and counts the status of its answer. */
  async ended(socket: Socket): Promise<void> {
    let head = '';
    socket.on('data', (chunk: Buffer) => {
      if (head.length < 16) head += chunk.toString('latin1', 0, 16);
    });
    // not `once`, which rejects when the connection was reset
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    this.count(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 'cut off');
  }
}
