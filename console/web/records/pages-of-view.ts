import type { StoredRecord } from './record-form.ts';
import type { PageResponse } from './record-pages.ts';
import { type Cursor, cursorOf, type PageRequest } from './record-view.ts';

const firstLimit = 100;
const largestLimit = 2000;
/** Characters of an answer, about. */
const pageSize = 4_000_000;

/** All records of a view, one page in memory at a time. */
export async function* pagesOfView(
  load: (request: PageRequest, signal: AbortSignal) => Promise<PageResponse>,
  sortBy: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly StoredRecord[]> {
  let after: Cursor | null = null;
  let limit = firstLimit;
  for (;;) {
    signal.throwIfAborted();
    const { records, size } = await load({ limit, after }, signal);
    const last = records.at(-1);
    if (last === undefined) return;
    yield records;
    if (records.length < limit) return;
    after = cursorOf(last, sortBy);
    limit = Math.max(1, Math.min(largestLimit, Math.floor(pageSize / (size / records.length))));
  }
}
