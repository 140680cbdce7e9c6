/** The drawn part of a virtual list: from `first` up to, but not including, `end`. */
export interface Span {
  readonly first: number;
  readonly end: number;
}

/** A scrolled list of rows of equal height. */
interface RowsView {
  /** The first placed row. */
  readonly base: number;
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
  readonly rows: number;
}

/** The rows that are drawn. `overscan` more are drawn on each side, so that a short scroll shows no gap. */
export function rowSpan(view: Omit<RowsView, 'base'>, overscan: number): Span {
  const { scrollTop, height, rowHeight, rows } = view;
  const top = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const bottom = Math.ceil((Math.max(0, scrollTop) + height) / rowHeight);
  const end = Math.min(rows, bottom + overscan);
  return { first: Math.max(0, Math.min(top - overscan, end)), end };
}

/** Where each column begins, and finally where the last one ends. */
export function columnStarts(widths: readonly number[]): readonly number[] {
  const starts = [0];
  for (const width of widths) starts.push((starts.at(-1) ?? 0) + width);
  return starts;
}

export function columnSpan(starts: readonly number[], scrollLeft: number, width: number): Span {
  const columns = starts.length - 1;
  let first = 0;
  while (first < columns - 1 && (starts[first + 1] ?? 0) <= scrollLeft) first++;
  let end = first;
  while (end < columns && (starts[end] ?? 0) < scrollLeft + width) end++;
  // one more on each side, so that the Tab key finds the next filter
  return { first: Math.max(0, first - 1), end: Math.min(columns, end + 1) };
}

/** Rows that are placed at once: browsers limit heights, Firefox to some 17 million pixels. */
export const placedRows = 200_000;

/**
 * The first placed row, and how far to scroll so that the visible rows do not move. It changes when the viewport comes
 * near an end of the placed rows and there are more beyond it.
 */
export function placeRows(view: Omit<RowsView, 'height'>): { base: number; scrollBy: number } {
  const { base, scrollTop, rowHeight, rows } = view;
  const top = Math.floor(scrollTop / rowHeight);
  // small enough to leave room at both ends
  const step = placedRows / 4;
  if (top > placedRows * 0.9 && base + placedRows < rows)
    return { base: base + step, scrollBy: -step * rowHeight };
  if (top < placedRows * 0.1 && base > 0) {
    const back = Math.min(step, base);
    return { base: base - back, scrollBy: back * rowHeight };
  }
  return { base, scrollBy: 0 };
}

/** How far to scroll to make the whole row visible; 0 if it is. */
export function scrollToRow(row: number, view: Omit<RowsView, 'rows'>): number {
  const { base, scrollTop, height, rowHeight } = view;
  const top = (row - base) * rowHeight;
  if (top < scrollTop) return top - scrollTop;
  return Math.max(0, top + rowHeight - scrollTop - height);
}
