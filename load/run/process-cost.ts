/** CPU and memory of this process, by the second. */
export class ProcessCost {
  readonly #began = process.cpuUsage();
  #last = process.cpuUsage();
  #lastTime = performance.now();
  memory = process.memoryUsage.rss();

  /** CPU seconds since the beginning. */
  get cpu(): number {
    const { user, system } = process.cpuUsage(this.#began);
    return (user + system) / 1e6;
  }

  /** @returns share of one core since the last call */
  sample(): number {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#last);
    const share = (user + system) / 1000 / Math.max(1, now - this.#lastTime);
    this.#last = process.cpuUsage();
    this.#lastTime = now;
    this.memory = Math.max(this.memory, process.memoryUsage.rss());
    return share;
  }
}
