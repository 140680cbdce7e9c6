import { availableParallelism } from 'node:os';
import { shuttingDown } from '#kernel/errors/catalogue.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';
import { type MadePicture, type PictureJob, PictureProcess, Starved } from './picture-process.ts';

/** More pictures at once would mostly take memory. */
const mostProcesses = 8;
/** Pictures that may wait, half of them of one account, and milliseconds for which they do. */
const queueLimit = 1000;
const waitLimit = 30_000;
/** A process without work ends after this time. Milliseconds. */
const idleFor = 30_000;
/** How long the processes get a share of the cores after one was starved. Milliseconds. */
const sharesFor = 60_000;

interface IdleProcess {
  readonly process: PictureProcess;
  readonly end: NodeJS.Timeout;
}

/**
 * The processes that make pictures: one a core, begun when there is work. An account gets all of them while nobody else has
 * work; one more is for an account that has none, so that pictures that take long hold up only their own.
 */
export class PictureProcesses {
  readonly #memoryLimit: number;
  readonly #slots: FairShare;
  readonly #busy = new Set<PictureProcess>();
  #idle: IdleProcess[] = [];
  #isClosed = false;
  /** By `performance.now()`. */
  #sharesUntil = Number.NEGATIVE_INFINITY;

  /** @param args.memoryLimit of a process, in bytes @param args.gateways processes that share the cores */
  constructor({ memoryLimit, gateways }: { readonly memoryLimit: number; readonly gateways: number }) {
    this.#memoryLimit = memoryLimit;
    const cores = Math.max(1, Math.floor(availableParallelism() / gateways));
    this.#slots = new FairShare({
      capacity: Math.min(cores, mostProcesses) + 1,
      reserve: 1,
      queueLimit,
      waitLimit,
      full: 'too many pictures are to be made',
    });
  }

  get running(): number {
    return this.#slots.used;
  }

  get waiting(): number {
    return this.#slots.waiters;
  }

  /** Runs work that makes a picture when it is the account's turn. Rejects with a 503 when too many wait. */
  turn<Result>(account: string, work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    return this.#slots.run(work, signal, account);
  }

  /**
   * Makes a picture, within a turn. Rejects like `PictureProcess.make`. Where others want all cores for long, it takes a
   * small share of them.
   */
  async make(job: PictureJob, signal: AbortSignal): Promise<MadePicture> {
    try {
      return await this.#attempt(job, signal);
    } catch (error) {
      if (!(error instanceof Starved)) throw error;
      this.#sharesUntil = performance.now() + sharesFor;
      return this.#attempt(job, signal);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#slots.failAll(shuttingDown());
    const all = [...this.#busy, ...this.#idle.map(({ process }) => process)];
    for (const { end } of this.#idle) clearTimeout(end);
    this.#idle = [];
    await Promise.all(all.map((process) => process.close()));
  }

  async #attempt(job: PictureJob, signal: AbortSignal): Promise<MadePicture> {
    const process = this.#take();
    this.#busy.add(process);
    try {
      return await process.make(job, signal);
    } finally {
      this.#busy.delete(process);
      this.#giveBack(process);
    }
  }

  /** The one that was used last, so that the others end when there is less work. */
  #take(): PictureProcess {
    if (this.#isClosed) throw shuttingDown();
    const onlyIdle = performance.now() > this.#sharesUntil;
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) return new PictureProcess({ memoryLimit: this.#memoryLimit, onlyIdle });
      clearTimeout(idle.end);
      if (!idle.process.isOver && idle.process.onlyIdle === onlyIdle) return idle.process;
      void idle.process.close();
    }
  }

  #giveBack(process: PictureProcess): void {
    if (process.isOver || this.#isClosed) return void process.close();
    const end = setTimeout(() => {
      this.#idle = this.#idle.filter((one) => one.process !== process);
      void process.close();
    }, idleFor).unref();
    this.#idle.push({ process, end });
  }
}
