import type { JSX } from 'preact';
import type { GridColumn } from './grid-columns.ts';
import type { Row } from './record-pages.ts';
import type { Span } from './row-window.ts';

/** Of the column of checkboxes, in pixels; it stays in sight. */
export const selectWidth = 40;

export interface GridRowProps {
  readonly index: number;
  readonly top: number;
  /** Null: it is not read yet. */
  readonly row: Row | null | 'gone';
  readonly columns: readonly GridColumn[];
  readonly starts: readonly number[];
  readonly shown: Span;
  readonly selected: boolean;
  readonly activeColumn: number | null;
  readonly onSelect: (range: boolean) => void;
  readonly onOpen: (column: number) => void;
}

/** One record. Its cells are text, cut off where they are long; a click opens the record at that field. */
export function GridRow(props: GridRowProps): JSX.Element {
  const { index, row, columns, starts, shown, selected } = props;
  const there = row !== null && row !== 'gone';
  const cells = columns.slice(shown.first, shown.end);
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: the grid has the focus, and says which cell is meant
    <div
      role="row"
      class={`grid-row${selected ? ' selected' : ''}`}
      // below the two rows of the head
      aria-rowindex={index + 3}
      aria-selected={there ? selected : undefined}
      style={{ top: `${props.top}px`, width: `${(starts.at(-1) ?? 0) + selectWidth}px` }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: see above */}
      <div role="gridcell" class="grid-cell select" aria-colindex={1}>
        {there && (
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select record ${index + 1}`}
            checked={selected}
            onClick={(event) => props.onSelect(event.shiftKey)}
          />
        )}
      </div>
      {cells.map((column, offset) => {
        const at = shown.first + offset;
        return (
          <GridCell
            key={column.name}
            id={`cell-${index}-${at}`}
            column={column}
            index={at}
            row={row}
            indent={offset === 0 ? (starts[at] ?? 0) : 0}
            active={props.activeColumn === at}
            onOpen={() => props.onOpen(at)}
          />
        );
      })}
    </div>
  );
}

interface GridCellProps {
  readonly id: string;
  readonly column: GridColumn;
  readonly index: number;
  readonly row: Row | null | 'gone';
  /** Room for the columns before it that are not drawn. */
  readonly indent: number;
  readonly active: boolean;
  readonly onOpen: () => void;
}

function GridCell({ id, column, index, row, indent, active, onOpen }: GridCellProps): JSX.Element {
  const style = { width: `${column.width}px`, marginLeft: `${indent}px` };
  const kind = `grid-cell ${column.type.toLowerCase()}${active ? ' active' : ''}`;
  const there = row !== null && row !== 'gone';
  const cell = there ? row.cells[index] : undefined;
  return (
    // biome-ignore lint/a11y: the keys of the grid do the same; it has the focus
    <div
      role="gridcell"
      id={id}
      class={kind}
      aria-colindex={index + 2}
      style={style}
      onClick={() => {
        // not when text was selected to be copied
        if (there && window.getSelection()?.isCollapsed !== false) onOpen();
      }}
    >
      {row === null && <span class="skeleton" />}
      {row === 'gone' && index === 0 && <span class="quiet">deleted meanwhile</span>}
      {there && (cell === null || cell === undefined) && <span class="none">no value</span>}
      {cell && (
        <>
          <span class="cut">{cell.text}</span>
          {cell.cut && <span class="more-text">…</span>}
        </>
      )}
    </div>
  );
}
