export interface ConnectionsInUse {
  readonly most: number;
  /** Over the time from the first body's begin to the last body's end. */
  readonly mean: number;
}

/** One body on its way to the store. */
export interface ThrottledBody {
  /** How long to wait so that this many bytes were no faster than allowed. */
  millisecondsAhead(bytes: number): number;
  /** The body is complete, or its connection is closed. */
  end(): void;
}

/** Makes the store as slow as a distant one: a limit of bytes per second on each connection. */
export class Throttle {
  #bytesPerSecond = 0;
  #inUse = 0;
  #most = 0;
  #busyMilliseconds = 0;
  #first = 0;
  #last = 0;

  set(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
    this.#most = this.#inUse;
    this.#busyMilliseconds = 0;
    this.#first = 0;
  }

  begin(): ThrottledBody {
    const begun = performance.now();
    if (this.#first === 0) this.#first = begun;
    this.#most = Math.max(this.#most, ++this.#inUse);
    let over = false;
    return {
      millisecondsAhead: (bytes) =>
        this.#bytesPerSecond === 0 ? 0 : (bytes / this.#bytesPerSecond) * 1000 - (performance.now() - begun),
      end: () => {
        if (over) return;
        over = true;
        this.#inUse--;
        this.#last = performance.now();
        this.#busyMilliseconds += this.#last - begun;
      },
    };
  }

  report(): ConnectionsInUse {
    return { most: this.#most, mean: this.#busyMilliseconds / Math.max(1, this.#last - this.#first) };
  }
}
