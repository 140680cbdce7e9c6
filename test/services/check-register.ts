/** One operation on a register: a write of a value that nothing else writes, or a read of it. */
export interface RegisterOperation {
  readonly kind: 'write' | 'read';
  readonly value: number;
  /** When it was asked for and when it was answered, by one clock. */
  readonly start: number;
  readonly end: number;
}

/**
 * What makes a history of one register impossible to put in an order in which every read gets the last write before it;
 * null when it is linearizable. For registers whose writes all differ this takes a sort: Gibbons and Korach, Testing
 * Shared Memories (SIAM J. Comput. 26, 1997), section 4.
 */
export function registerProblem(history: readonly RegisterOperation[]): string | null {
  const zones: {
    readonly value: number;
    readonly low: number;
    readonly high: number;
    readonly forward: boolean;
  }[] = [];
  for (const [value, operations] of groupByValue(history)) {
    const write = operations.find(({ kind }) => kind === 'write');
    if (write === undefined) return `${value} is read, and nobody wrote it`;
    const early = operations.find(({ end }) => end < write.start);
    if (early !== undefined) return `${value} is read before it is written`;
    const firstEnd = Math.min(...operations.map(({ end }) => end));
    const lastStart = Math.max(...operations.map(({ start }) => start));
    const forward = firstEnd < lastStart;
    zones.push({
      value,
      forward,
      low: forward ? firstEnd : lastStart,
      high: forward ? lastStart : firstEnd,
    });
  }
  zones.sort((a, b) => a.low - b.low);
  let open: (typeof zones)[number] | null = null;
  for (const zone of zones) {
    if (open !== null && zone.low < open.high) {
      if (zone.forward) return `${open.value} and ${zone.value} each hold while the other does`;
      if (zone.high < open.high) return `${zone.value} is written and read while ${open.value} holds`;
    }
    if (zone.forward) open = zone;
  }
  return null;
}

function groupByValue(history: readonly RegisterOperation[]): Map<number, RegisterOperation[]> {
  const groups = new Map<number, RegisterOperation[]>();
  for (const operation of history) {
    const group = groups.get(operation.value);
    if (group === undefined) groups.set(operation.value, [operation]);
    else group.push(operation);
  }
  return groups;
}
