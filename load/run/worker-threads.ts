import { Worker } from 'node:worker_threads';
import type { Mix, Phase } from '../mix/mix.ts';
import type { Stored, TargetAddress } from '../targets/target.ts';
import type { Collector } from './collector.ts';
import type { FromWorker, LiveCounts, ToWorker, WorkerSetup } from './messages.ts';
import { threadClock } from './thread-clock.ts';
import { addCounts } from './worker-streams.ts';

/** Milliseconds between the order to begin and the beginning, so that all threads begin together. */
const headStart = 30;

export interface ThreadsOptions {
  readonly workers: number;
  readonly mix: Mix;
  readonly address: TargetAddress;
  readonly prepared: unknown;
  /** Milliseconds. */
  readonly timeout: number;
  /** Of all workers. */
  readonly inFlight: number;
  readonly verify: number;
}

/** What the threads know at their end. */
export interface Ended {
  /** What is to be verified. */
  readonly stored: readonly Stored[];
  /** Sentences of requests that found wrong bytes. */
  readonly wrong: readonly string[];
  readonly live: LiveCounts;
}

/** A phase that runs. */
export interface RunningPhase {
  /** Its place among the phases. */
  readonly index: number;
  /** Milliseconds since 1970. */
  readonly began: number;
  /** All its requests have started, or it was stopped. */
  readonly started: Promise<void>;
  /** And have ended. */
  readonly drained: Promise<void>;
}

/** The worker threads of a run, as the main thread sees them. */
export class WorkerThreads {
  readonly #workers: readonly Worker[];
  readonly #listeners = new Set<(message: FromWorker, worker: number) => void>();
  readonly #failure: Promise<never>;
  /** Numbers of those that said so. */
  readonly #ended = new Set<number>();
  #fail: (error: Error) => void = () => {};
  #collector: Collector | undefined;
  #nextNumber = 0;
  #streams = 0;

  private constructor(workers: readonly Worker[]) {
    this.#workers = workers;
    this.#failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.#failure.catch(() => {});
    for (const [number, worker] of workers.entries()) {
      worker.on('message', (message: FromWorker) => this.#receive(message, number));
      worker.on('error', (error) => this.#fail(error));
      worker.on('exit', () => {
        if (!this.#ended.has(number)) this.#fail(new Error('a worker thread ended before the run'));
      });
    }
  }

  /** Starts them, and waits until each is ready. */
  static async start(options: ThreadsOptions): Promise<WorkerThreads> {
    const { workers, mix, address, prepared, timeout, verify } = options;
    const inFlight = Math.max(1, Math.ceil(options.inFlight / workers));
    const threads = new WorkerThreads(
      Array.from({ length: workers }, (_, worker) =>
        startThread({ worker, workers, mix, address, prepared, timeout, inFlight, verify }),
      ),
    );
    try {
      await threads.#allSay('ready');
    } catch (error) {
      await threads.terminate();
      throw error;
    }
    return threads;
  }

  /** @returns when the run begins, in milliseconds since 1970 */
  begin(collector: Collector): number {
    this.#collector = collector;
    const at = threadClock() + headStart;
    this.#send({ kind: 'begin', at });
    return at;
  }

  /** Opens so many streams in place of those that are open. Resolves when all are ready. */
  async openStreams(count: number): Promise<void> {
    if (count === this.#streams) return;
    this.#streams = count;
    const streaming = this.#allSay('streaming');
    for (const [worker, thread] of this.#workers.entries()) {
      const numbers: number[] = [];
      for (let number = worker; number < count; number += this.#workers.length) numbers.push(number);
      thread.postMessage({ kind: 'streams', numbers } satisfies ToWorker);
    }
    await streaming;
  }

  /** @param at when it begins, in milliseconds since 1970; as soon as possible by default */
  startPhase(index: number, phase: Phase, at = threadClock() + headStart): RunningPhase {
    const started = this.#allSay('started', (message) => {
      if (message.kind !== 'started' || message.index !== index) return false;
      this.#nextNumber = Math.max(this.#nextNumber, message.next);
      return true;
    });
    const drained = this.#allSay(
      'drained',
      (message) => message.kind === 'drained' && message.index === index,
    );
    drained.catch(() => {});
    this.#send({ kind: 'phase', index, phase, at, first: this.#nextNumber });
    return { index, began: at, started, drained };
  }

  /** Starts no further request of the running phase. */
  stopPhase(): void {
    this.#send({ kind: 'stop' });
  }

  /** Gives up all requests that are under way. */
  abort(): void {
    this.#send({ kind: 'abort' });
  }

  /** Ends the threads. @returns what is to be verified, and what streams received */
  async end(): Promise<Ended> {
    const stored: Stored[] = [];
    const wrong: string[] = [];
    const live: LiveCounts = { streams: 0, events: 0, lost: 0, ends: {} };
    const ended = this.#allSay('ended', (message) => {
      if (message.kind !== 'ended') return false;
      for (const one of message.stored) stored.push(one);
      wrong.push(...message.wrong);
      live.streams += message.live.streams;
      live.events += message.live.events;
      live.lost += message.live.lost;
      addCounts(live.ends, message.live.ends);
      return true;
    });
    this.#send({ kind: 'end' });
    await ended;
    await this.terminate();
    return { stored, wrong, live };
  }

  async terminate(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #send(message: ToWorker): void {
    for (const worker of this.#workers) worker.postMessage(message);
  }

  #receive(message: FromWorker, worker: number): void {
    if (message.kind === 'failed') this.#fail(message.error);
    else if (message.kind === 'ended') this.#ended.add(worker);
    else if (message.kind === 'samples') this.#collector?.add(message);
    else if (message.kind === 'second') this.#collector?.endSecond(worker, message);
    else if (message.kind === 'notes') this.#collector?.addNotes(message);
    for (const listener of this.#listeners) listener(message, worker);
  }

  /** Resolves when each thread has said so, and rejects when one fails. */
  #allSay(
    kind: FromWorker['kind'],
    isIt: (message: FromWorker) => boolean = (message) => message.kind === kind,
  ): Promise<void> {
    const all = new Promise<void>((resolve) => {
      const left = new Set(this.#workers.keys());
      const listener = (message: FromWorker, worker: number): void => {
        if (message.kind !== kind || !isIt(message)) return;
        left.delete(worker);
        if (left.size > 0) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
    return Promise.race([all, this.#failure]);
  }
}

function startThread(workerData: WorkerSetup): Worker {
  const name = 'load';
  if (!import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./worker.js', import.meta.url), { workerData, name });
  // a thread does not inherit the loader of the process
  const [loader, program] = [
    import.meta.resolve('tsx/esm/api'),
    new URL('./worker.ts', import.meta.url).href,
  ];
  const script = `import(${JSON.stringify(loader)}).then(({ register }) => {
    register();
    return import(${JSON.stringify(program)});
  })`;
  return new Worker(script, { eval: true, workerData, name, execArgv: [] });
}
