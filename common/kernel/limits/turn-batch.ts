interface PendingItem<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Batches the items that arrive in one turn of the event loop, in order. */
export class TurnBatch<Item, Answer> {
  readonly #sizeOf: (item: Item) => number;
  readonly #sizeLimit: number;
  readonly #run: (items: readonly Item[]) => Promise<readonly Answer[]>;
  #waiting: PendingItem<Item, Answer>[] = [];

  /** @param args.sizeLimit of a batch; a single item may exceed it @param args.run returns an answer for each item */
  constructor(args: {
    readonly sizeOf: (item: Item) => number;
    readonly sizeLimit: number;
    readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>;
  }) {
    this.#sizeOf = args.sizeOf;
    this.#sizeLimit = args.sizeLimit;
    this.#run = args.run;
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.flush());
      this.#waiting.push({ item, resolve, reject });
    });
  }

  /** Runs the items that have arrived, without waiting for the end of the turn. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let from = 0;
    let size = 0;
    waiting.forEach(({ item }, index) => {
      const own = this.#sizeOf(item);
      if (index > from && size + own > this.#sizeLimit) {
        void this.#settle(waiting.slice(from, index));
        from = index;
        size = 0;
      }
      size += own;
    });
    if (from < waiting.length) void this.#settle(from === 0 ? waiting : waiting.slice(from));
  }

  async #settle(waiting: readonly PendingItem<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#run(waiting.map(({ item }) => item));
      for (const [index, { resolve }] of waiting.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
