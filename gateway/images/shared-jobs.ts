import { untilAborted } from '#kernel/limits/deadline.ts';

interface SharedJob<Result> {
  readonly result: Promise<Result>;
  readonly unwanted: AbortController;
  waiting: number;
}

/** Lets requests for the same thing share the work. It is stopped when none of them waits any more. */
export class SharedJobs<Result> {
  readonly #jobs = new Map<string, SharedJob<Result>>();

  get size(): number {
    return this.#jobs.size;
  }

  /** @param work stops when its signal is aborted, as far as it likes */
  async share(
    key: string,
    work: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    signal.throwIfAborted();
    const job = this.#jobs.get(key) ?? this.#begin(key, work);
    job.waiting++;
    try {
      return await untilAborted(job.result, signal);
    } finally {
      if (--job.waiting === 0) {
        // who comes now begins anew
        if (this.#jobs.get(key) === job) this.#jobs.delete(key);
        job.unwanted.abort(new Error('nobody waits for it any more'));
      }
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<Result>): SharedJob<Result> {
    const unwanted = new AbortController();
    const result = work(unwanted.signal).finally(() => {
      if (this.#jobs.get(key)?.unwanted === unwanted) this.#jobs.delete(key);
    });
    const job = { result, unwanted, waiting: 0 };
    result.catch(() => {});
    this.#jobs.set(key, job);
    return job;
  }
}
