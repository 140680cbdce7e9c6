import { useEffect, useRef, useState } from 'preact/hooks';
import type { Where } from './filters.ts';
import { LiveFind, type LiveState, sleep } from './live-find.ts';
import type { RecordPages } from './record-pages.ts';
import type { RecordsApi } from './records-api.ts';

/** Least interval between reloads. */
const gapMs = 500;
/** How long a row is highlighted: a little longer than the animation in records.css. */
const markMs = 2500;

export interface LiveRecordsProps {
  readonly on: boolean;
  readonly api: RecordsApi;
  /** Null: a filter can't be read. */
  readonly where: Where | null;
  readonly pages: RecordPages;
}

/** Marks of new and changed records by id; later marks have larger numbers. */
export type Marks = ReadonlyMap<string, number>;

/** Reloads the pages when records change: only the service knows the place of a record in the order. */
export function useLiveRecords({ on, api, where, pages }: LiveRecordsProps) {
  const [state, setState] = useState<LiveState>({ kind: 'off' });
  const [reads, setReads] = useState(0);
  const { marks, mark } = useMarks();
  const shown = useRef(pages);
  shown.current = pages;
  useEffect(() => {
    if (!on || where === null) return;
    const over = new AbortController();
    let changed = new Set<string>();
    const read = coalesced(over.signal, async () => {
      const ids = changed;
      changed = new Set();
      await shown.current.refresh();
      mark([...shown.current.rows()].map(({ id }) => id).filter((id) => ids.has(id)));
      setReads((last) => last + 1);
    });
    const find = new LiveFind({
      where,
      open: (conditions, place, signal) => api.live(conditions, place, signal),
      onState: setState,
      onChange: (id) => {
        if (id !== null) changed.add(id);
        read();
      },
    });
    const stop = whileVisible((signal) => void find.watch(signal));
    return () => {
      stop();
      over.abort();
      setState({ kind: 'off' });
    };
  }, [on, api, JSON.stringify(where)]);
  return { state, marks, reads };
}

/** Runs while the page is visible. @returns a function to stop */
function whileVisible(run: (signal: AbortSignal) => void): () => void {
  let seen = new AbortController();
  const follow = (): void => {
    seen.abort();
    seen = new AbortController();
    if (!document.hidden) run(seen.signal);
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  return () => {
    document.removeEventListener('visibilitychange', follow);
    seen.abort();
  };
}

/** Runs at once, and once more for all calls meanwhile. */
function coalesced(signal: AbortSignal, run: () => Promise<void>): () => void {
  let isRequested = false;
  let isRunning = false;
  const runAll = async (): Promise<void> => {
    isRunning = true;
    while (isRequested && !signal.aborted) {
      isRequested = false;
      await run();
      await sleep(gapMs, signal);
    }
    isRunning = false;
  };
  return () => {
    isRequested = true;
    if (!isRunning) void runAll();
  };
}

function useMarks() {
  const [marks, setMarks] = useState<Marks>(new Map());
  const count = useRef(0);
  const mark = (ids: readonly string[]): void => {
    if (ids.length === 0) return;
    count.current += 1;
    const number = count.current;
    setMarks((last) => new Map([...last, ...ids.map((id) => [id, number] as const)]));
    setTimeout(() => setMarks((last) => new Map([...last].filter(([, other]) => other !== number))), markMs);
  };
  return { marks, mark };
}
