import { Agent, request } from 'node:http';
import { median } from '../upload/harness/median.ts';
import { watchMemory } from '../upload/harness/memory-watch.ts';
import { cpuSeconds, residentBytes } from '../upload/harness/process-usage.ts';

export const token = 'bench-token-0123456789abcdef';
export const agent = new Agent({ keepAlive: true, maxSockets: 64 });

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Call {
  readonly method?: string;
  readonly body?: string;
  readonly as?: string;
}

export interface Stored {
  readonly _id: string;
  readonly createdAt: string;
  readonly folder: string;
  readonly path: string;
}

/** What one kind of request took. Milliseconds; of CPU time the gateway's and the engine's. */
export interface Cost {
  readonly median: number;
  readonly worst: number;
  readonly own: number;
  readonly engine: number;
}

/** A gateway, and what its requests cost. */
export class Subject {
  readonly #url: string;
  readonly #pids: readonly number[];
  readonly #engine: readonly number[];

  constructor(url: string, pids: readonly number[], engine: readonly number[]) {
    this.#url = url;
    this.#pids = pids;
    this.#engine = engine;
  }

  call(path: string, { method = 'GET', body, as = token }: Call = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${as}`, 'content-type': 'text/plain' };
      const sent = request(`${this.#url}/_f_/bench${path}`, { method, agent, headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async ok(path: string, call?: Call): Promise<string> {
    const { status, text } = await this.call(path, call);
    if (status >= 300) throw new Error(`${path} was answered with ${status}: ${text}`);
    return text;
  }

  async put(path: string, as?: string): Promise<Stored> {
    return JSON.parse(
      await this.ok(path, { method: 'PUT', body: path, ...(as === undefined ? {} : { as }) }),
    ) as Stored;
  }

  cpu(): readonly [number, number] {
    return [cpuSeconds(this.#pids), cpuSeconds(this.#engine)];
  }

  resident(): number {
    return residentBytes(this.#pids);
  }

  memory() {
    return watchMemory(this.#pids);
  }

  async cost(many: number, one: (at: number) => Promise<unknown>): Promise<Cost> {
    const before = this.cpu();
    const times: number[] = [];
    for (let at = 0; at < many; at++) {
      const begun = performance.now();
      await one(at);
      times.push(performance.now() - begun);
    }
    const after = this.cpu();
    const each = (of: 0 | 1): number => ((after[of] - before[of]) / many) * 1000;
    return { median: median(times), worst: Math.max(...times), own: each(0), engine: each(1) };
  }
}
