import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isAbort, type Problem, toProblem } from '../problem.ts';

export interface KeysetPage<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The total, if the first page has it. */
  readonly total?: number | undefined;
}

export interface Pages<Item> {
  /** null until the first page has loaded. */
  readonly items: readonly Item[] | null;
  readonly total: number | undefined;
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
  /** Changes the shown list, after something was deleted or added. */
  readonly change: (change: (items: readonly Item[]) => readonly Item[]) => void;
}

interface PagesState<Item> extends Pick<Pages<Item>, 'items' | 'total' | 'problem' | 'loading'> {
  readonly next: string | null;
}

const initialState = {
  items: null,
  total: undefined,
  next: null,
  problem: null,
  loading: true,
};

/** Loads a list page by page, from its beginning when `inputs` change. Obsolete loads are aborted. */
export function usePages<Item>(
  load: (after: string | null, signal: AbortSignal) => Promise<KeysetPage<Item>>,
  inputs: readonly unknown[],
): Pages<Item> {
  const [state, setState] = useState<PagesState<Item>>(initialState);
  const [round, setRound] = useState(0);
  /** The request under way. */
  const request = useRef<AbortController | null>(null);

  const loadAfter = (after: string | null): void => {
    request.current?.abort();
    const controller = new AbortController();
    request.current = controller;
    setState((last) => ({ ...last, problem: null, loading: true }));
    const settle = (change: (last: PagesState<Item>) => Partial<PagesState<Item>>): void => {
      if (controller.signal.aborted) return;
      request.current = null;
      setState((last) => ({ ...last, ...change(last), loading: false }));
    };
    load(after, controller.signal).then(
      ({ items, total, next }) =>
        settle((last) => ({
          items: after === null ? items : [...(last.items ?? []), ...items],
          total: total ?? last.total,
          next,
        })),
      (thrown: unknown) => {
        if (!isAbort(thrown)) settle(() => ({ problem: toProblem(thrown) }));
      },
    );
  };

  useEffect(() => {
    loadAfter(null);
    return () => request.current?.abort();
  }, [...inputs, round]);

  return {
    ...state,
    hasMore: state.next !== null,
    loadMore: () => {
      if (state.next !== null && !state.loading) loadAfter(state.next);
    },
    reload: useCallback(() => setRound((last) => last + 1), []),
    change(change) {
      // the load under way may be from before the change
      if (request.current !== null) setRound((last) => last + 1);
      setState((last) => {
        if (last.items === null) return last;
        const items = change(last.items);
        const more = items.length - last.items.length;
        return { ...last, items, total: last.total === undefined ? undefined : last.total + more };
      });
    },
  };
}

export interface Loaded<T> extends Pick<Pages<T>, 'problem' | 'loading' | 'reload'> {
  /** null until loaded; stays while it is reloaded. */
  readonly data: T | null;
}

/** Loads the data of a component, again when `inputs` change: a list of one page with one item. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const { items, ...state } = usePages(
    async (_, signal) => ({ items: [await load(signal)], next: null }),
    inputs,
  );
  return { ...state, data: items?.[0] ?? null };
}
