/** Permission to write, which may expire before the statement begins. */
export interface WritePermit {
  /** Throws if the permit has expired. Called when the statement is sent to the engine. */
  check(): void;
  /** Milliseconds that the statement may take from then on. After that it fails, almost always without an effect. */
  readonly timeLimit: number;
}

/** A statement exceeded the time limit of its permit. */
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

/** The permit of a statement with several writes; undefined: none of them needs one. */
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

/** The writes whose permits are still valid. @param refuse called with each other write and the reason */
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
