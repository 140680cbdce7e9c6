/** Milliseconds between two texts of one item: on a terminal, and in a log. */
const terminalEvery = 100;
const logEvery = 10_000;

/** How far a long command is, on standard error: one line that changes on a terminal, else a line for each item. */
export class Progress {
  readonly #isTerminal = process.stderr.isTTY === true;
  #items = 0;
  #bytes = 0;
  #shownAt = performance.now();

  /** An item is over. @param bytes of it that did not come by `moved` */
  done(text: string, bytes = 0): void {
    this.#items++;
    this.#bytes += bytes;
    if (this.#isTerminal) this.#show(text);
    else this.say(text);
  }

  /** Bytes of an item that goes on. */
  moved(text: string, bytes: number): void {
    this.#bytes += bytes;
    if (performance.now() - this.#shownAt > (this.#isTerminal ? terminalEvery : logEvery)) this.#show(text);
  }

  /** A line that stays. */
  readonly say = (text: string): void => {
    this.#shownAt = performance.now();
    this.clear();
    process.stderr.write(`${text}\n`);
  };

  /** Leaves the line for something else. */
  clear(): void {
    if (this.#isTerminal) process.stderr.write('\r\u001b[K');
  }

  /** What the whole came to. */
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
