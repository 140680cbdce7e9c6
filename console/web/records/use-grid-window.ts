import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { GridColumn } from './grid-columns.ts';
import { selectWidth } from './grid-row.tsx';
import type { RecordPages } from './record-pages.ts';
import { columnSpan, columnStarts, placedRows, placeRows, rowSpan, scrollToRow } from './row-window.ts';

export const rowHeight = 34;
/** Height of the two sticky rows of the head. */
const headHeight = 76;
const overscan = 8;
/** Placeholder rows for rows that are not loaded. */
const expectedRows = 30;

export interface GridPlace {
  readonly row: number;
  readonly column: number;
}

export interface GridWindowProps {
  readonly pages: RecordPages;
  readonly columns: readonly GridColumn[];
  /** Number of records; null: unknown. */
  readonly total: number | null;
  /** Increases to show the last record. */
  readonly jumps: number;
}

export type GridWindow = ReturnType<typeof useGridWindow>;

/** The drawn rows and columns, the active cell, and ways to move it. */
export function useGridWindow(grid: RefObject<HTMLDivElement | null>, props: GridWindowProps) {
  const { pages, columns } = props;
  const { width, height, scrollTop, scrollLeft, read } = useViewport(grid);
  const [base, setBase] = useState(0);
  const [active, setActive] = useState<GridPlace>({ row: 0, column: 0 });
  const [jumping, setJumping] = useState(false);
  const starts = useMemo(() => columnStarts(columns.map(({ width }) => width)), [columns]);
  const rows = pages.known + (pages.complete || pages.error !== null ? 0 : expectedRows);
  const placed = Math.min(rows - base, placedRows);
  const bodyHeight = Math.max(rowHeight, height - headHeight);
  const span = rowSpan({ scrollTop, height: bodyHeight, rowHeight, rows: placed }, overscan);
  const [first, end] = [base + span.first, base + span.end];
  const shown = columnSpan(starts, scrollLeft, Math.max(0, width - selectWidth));

  useEffect(() => pages.want({ first, end }), [pages, first, end]);
  useEffect(() => {
    setJumping(false);
    setBase(0);
    setActive((last) => ({ ...last, row: 0 }));
    grid.current?.scrollTo({ top: 0 });
  }, [pages]);
  useLayoutEffect(() => {
    const next = placeRows({ base, scrollTop, rowHeight, rows });
    if (next.base === base || jumping) return;
    // both at once, so that the rows do not move
    grid.current?.scrollBy({ top: next.scrollBy });
    read();
    setBase(next.base);
  }, [base, scrollTop, rows]);

  const moveTo = (place: GridPlace): void => {
    const row = Math.max(0, Math.min(place.row, pages.known - 1));
    const column = Math.max(0, Math.min(place.column, columns.length - 1));
    setActive({ row, column });
    const element = grid.current;
    if (element === null) return;
    const down = scrollToRow(row, { base, scrollTop: element.scrollTop, height: bodyHeight, rowHeight });
    const [left, right] = [starts[column] ?? 0, starts[column + 1] ?? 0];
    const across =
      left < element.scrollLeft ? left : Math.max(element.scrollLeft, right - width + selectWidth);
    element.scrollTo({ top: element.scrollTop + down, left: across });
  };
  const byRows = (rows: number): void => {
    grid.current?.scrollBy({ top: rows * rowHeight });
    read();
  };
  const top = scrollTop > 0 ? base + Math.floor(scrollTop / rowHeight) : null;
  useFollowedRow(pages, active.row, (row) => setActive({ ...active, row }));
  useFollowedRow(pages, top, (row) => byRows(row - (top ?? row)));
  const jump = useJump(props, { base, rows, active, jumping, setBase, setJumping, moveTo });
  return { base, placed, bodyHeight, first, end, starts, shown, active, setActive, moveTo, jump };
}

/** Follows the record of a row when records are inserted or removed before it. */
function useFollowedRow(pages: RecordPages, row: number | null, follow: (row: number) => void): void {
  const found = row === null ? null : pages.row(row);
  const id = found === null || found === 'gone' ? null : found.id;
  const previous = useRef({ pages, row, id });
  useLayoutEffect(() => {
    const last = previous.current;
    previous.current = { pages, row, id };
    if (last.pages !== pages || last.row !== row || last.id === null || last.id === id) return;
    const now = pages.indexOf(last.id);
    if (now >= 0) follow(now);
  });
}

interface JumpState {
  readonly base: number;
  readonly rows: number;
  readonly active: GridPlace;
  readonly jumping: boolean;
  readonly setBase: (base: number) => void;
  readonly setJumping: (jumping: boolean) => void;
  readonly moveTo: (place: GridPlace) => void;
}

/** Jumps to the last record over several renderings: it has to be loaded and placed first. */
function useJump({ pages, total, jumps }: GridWindowProps, state: JumpState): () => void {
  const { base, rows, active, jumping } = state;
  const jump = (): void => {
    pages.toEnd(total);
    state.setJumping(true);
  };
  useEffect(() => {
    if (jumps > 0) jump();
  }, [jumps]);
  useLayoutEffect(() => {
    if (!jumping || !(pages.complete || pages.error !== null)) return;
    const last = pages.known - 1;
    const lastBase = Math.max(0, rows - placedRows);
    // the last rows have to be placed before scrolling to them
    if (base !== lastBase) state.setBase(lastBase);
    else if (active.row !== last) state.moveTo({ row: last, column: active.column });
    else if (pages.row(last) !== null || pages.error !== null) state.setJumping(false);
  });
  return jump;
}

/** The visible part of a scrolling element, at most once a frame. */
function useViewport(ref: RefObject<HTMLElement | null>) {
  const [viewport, setViewport] = useState({ width: 800, height: 600, scrollTop: 0, scrollLeft: 0 });
  const read = (): void => {
    if (ref.current === null) return;
    const { clientWidth: width, clientHeight: height, scrollTop, scrollLeft } = ref.current;
    setViewport({ width, height, scrollTop, scrollLeft });
  };
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    let frame = 0;
    const plan = (): void => {
      if (frame !== 0) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        read();
      });
    };
    const observer = new ResizeObserver(plan);
    observer.observe(element);
    element.addEventListener('scroll', plan, { passive: true });
    read();
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      element.removeEventListener('scroll', plan);
    };
  }, []);
  return { ...viewport, read };
}
