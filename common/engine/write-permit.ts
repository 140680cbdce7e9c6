/** Permission to write, which may run out before the statement begins. */
export interface WritePermit {
  /** Throws when the write must not begin any more. Called when the statement goes to the engine. */
  check(): void;
  /** Milliseconds that the statement may take from then on: after them it fails, and hardly ever has done anything. */
  readonly timeLimit: number;
}

/** A statement that was ended by its permit's limit. */
export class StatementTimeout extends Error {
  readonly timeLimit: number;

  constructor(timeLimit: number, cause: unknown) {
    super(`a statement took more than ${timeLimit} ms`, { cause });
    this.name = 'StatementTimeout';
    this.timeLimit = timeLimit;
  }
}

/** A write in its queue. */
interface WriteInQueue {
  readonly item: { readonly permit?: WritePermit | null | undefined };
}

/** The permit of a statement with several writes; undefined when none of them needs one. */
export function joinPermits(writes: readonly WriteInQueue[]): WritePermit | undefined {
  const permits = writes.flatMap(({ item }) => item.permit ?? []);
  if (permits.length === 0) return undefined;
  return {
    check() {
      for (const permit of permits) permit.check();
    },
    timeLimit: Math.min(...permits.map(({ timeLimit }) => timeLimit)),
  };
}

/** The writes that may still begin. @param refuse called with each of the others and its reason */
export function permittedWrites<Write extends WriteInQueue>(
  writes: readonly Write[],
  refuse: (write: Write, reason: unknown) => void,
): readonly Write[] {
  return writes.filter((write) => {
    try {
      write.item.permit?.check();
      return true;
    } catch (reason) {
      refuse(write, reason);
      return false;
    }
  });
}
