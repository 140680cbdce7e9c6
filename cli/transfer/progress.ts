/** Least milliseconds between two reports of one item: on a terminal, and in a log. */
const terminalEvery = 100;
const logEvery = 10_000;

/** Reports the progress of a long command on standard error: on a terminal in one line that changes, otherwise a line per item. */
export class Progress {
  readonly #isTerminal = process.stderr.isTTY === true;
  #items = 0;
  #bytes = 0;
  #shownAt = performance.now();

  /** An item is complete. @param bytes of it that were not reported with `moved` */
  done(text: string, bytes = 0): void {
    this.#items++;
    this.#bytes += bytes;
    if (this.#isTerminal) this.#show(text);
    else this.say(text);
  }

  /** More bytes of a running item. */
  moved(text: string, bytes: number): void {
    this.#bytes += bytes;
    if (performance.now() - this.#shownAt > (this.#isTerminal ? terminalEvery : logEvery)) this.#show(text);
  }

  /** Prints a permanent line. */
  readonly say = (text: string): void => {
    this.#shownAt = performance.now();
    this.clear();
    process.stderr.write(`${text}\n`);
  };

  /** Clears the line for other output. */
  clear(): void {
    if (this.#isTerminal) process.stderr.write('\r\u001b[K');
  }

  /** Prints the totals. */
  end(text: string): void {
    this.say(`${text}: ${this.#total()}`);
  }

  #show(text: string): void {
    this.#shownAt = performance.now();
    const line = `${this.#total()}  ${text}`;
    const width = (process.stderr.columns ?? 80) - 1;
    process.stderr.write(this.#isTerminal ? `\r\u001b[K${line.slice(0, width)}` : `${line}\n`);
  }

  #total(): string {
    return `${this.#items} items, ${(this.#bytes / 1e6).toFixed(1)} MB`;
  }
}
