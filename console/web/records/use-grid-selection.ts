import { useRef } from 'preact/hooks';
import { formatNumber } from '../parts/format.ts';
import { announce } from '../parts/toast.tsx';
import type { GridColumn } from './grid-columns.ts';
import type { GridKey } from './grid-key.ts';
import type { RecordPages } from './record-pages.ts';
import { extendSelection, type RecordSelection, toggleRecord } from './record-selection.ts';
import type { GridWindow } from './use-grid-window.ts';

export interface GridSelectionProps {
  readonly pages: RecordPages;
  readonly columns: readonly GridColumn[];
  readonly selected: RecordSelection;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  readonly onOpen: (id: string, column: string) => void;
  readonly onDelete: (ids: readonly string[]) => void;
}

export type GridSelection = ReturnType<typeof useGridSelection>;

/** The selected records, and the effects of keys and clicks. */
export function useGridSelection(props: GridSelectionProps, drawn: GridWindow) {
  const { pages, columns, onSelect } = props;
  const { active, moveTo } = drawn;
  const anchor = useRef(0);
  const loaded = (): ReadonlySet<string> => new Set([...pages.rows()].map(({ id }) => id));
  const selected = props.selected === 'all' ? loaded() : props.selected;
  const idAt = (row: number): string | null => {
    const found = pages.row(row);
    return found === null || found === 'gone' ? null : found.id;
  };
  /** @param range extends from the last selected row */
  const select = (row: number, range: boolean): void => {
    const id = idAt(row);
    if (id === null) return;
    const next = range ? extendSelection(selected, anchor.current, row, idAt) : toggleRecord(selected, id);
    anchor.current = row;
    onSelect(next);
    announce(`${formatNumber(next.size)} selected`);
  };
  const open = (row: number, column: number): void => {
    const id = idAt(row);
    if (id !== null) props.onOpen(id, columns[column]?.name ?? 'id');
  };
  const move = (key: Extract<GridKey, { kind: 'move' }>): void => {
    const to = { row: active.row + key.rows, column: active.column + key.columns };
    if (key.extend) {
      anchor.current = active.row;
      onSelect(extendSelection(selected, active.row, Math.max(0, Math.min(to.row, pages.known - 1)), idAt));
    }
    moveTo(to);
  };
  const run = (key: GridKey): void => {
    if (key.kind === 'end') drawn.jump();
    else if (key.kind === 'move') move(key);
    else if (key.kind === 'select') select(active.row, false);
    else if (key.kind === 'selectAll') onSelect(loaded());
    else if (key.kind === 'clear') onSelect(new Set());
    else if (key.kind === 'open') open(active.row, active.column);
    else {
      const id = idAt(active.row);
      if (id !== null) props.onDelete(selected.size > 0 ? [...selected] : [id]);
    }
  };
  return { selected, select, open, run };
}
