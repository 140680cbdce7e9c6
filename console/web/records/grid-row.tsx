import type { CSSProperties, JSX } from 'preact';
import type { GridColumn } from './grid-columns.ts';
import type { Row } from './page-list.ts';
import type { Span } from './row-window.ts';

/** Width of the sticky column of checkboxes, in pixels. */
export const selectWidth = 40;

/** The columns of a row, where each begins, and which are drawn. */
export interface RowColumns {
  readonly columns: readonly GridColumn[];
  readonly starts: readonly number[];
  readonly shown: Span;
}

export interface CellPlace {
  readonly column: GridColumn;
  readonly at: number;
  readonly style: CSSProperties;
}

/** The drawn cells; the first has a margin in place of the cells before it. */
export function cellsOf({ columns, starts, shown }: RowColumns): readonly CellPlace[] {
  return columns.slice(shown.first, shown.end).map((column, offset) => {
    const at = shown.first + offset;
    const style = { width: `${column.width}px`, marginLeft: `${offset === 0 ? (starts[at] ?? 0) : 0}px` };
    return { column, at, style };
  });
}

export function rowWidth({ starts }: RowColumns): string {
  return `${(starts.at(-1) ?? 0) + selectWidth}px`;
}

export interface GridRowProps extends RowColumns {
  readonly index: number;
  readonly top: number;
  /** Null: not yet loaded. */
  readonly row: Row | null | 'gone';
  readonly selected: boolean;
  /** A new number: the record was inserted or changed just now. */
  readonly mark: number | undefined;
  readonly activeColumn: number | null;
  readonly onSelect: (range: boolean) => void;
  readonly onOpen: (column: number) => void;
}

/** One record. Its cells are text, cut off where they are long; a click opens the record at that field. */
export function GridRow(props: GridRowProps): JSX.Element {
  const { index, row, selected } = props;
  const there = row !== null && row !== 'gone';
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: the grid has the focus, and names the active cell
    <div
      role="row"
      class={`grid-row${selected ? ' selected' : ''}`}
      // below the two rows of the head
      aria-rowindex={index + 3}
      aria-selected={there ? selected : undefined}
      style={{ top: `${props.top}px`, width: rowWidth(props) }}
    >
      {props.mark !== undefined && <span key={props.mark} class="mark" aria-hidden="true" />}
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
      {cellsOf(props).map((place) => (
        <GridCell key={place.column.name} {...props} {...place} />
      ))}
    </div>
  );
}

function GridCell({
  column,
  at,
  style,
  index,
  row,
  activeColumn,
  onOpen,
}: GridRowProps & CellPlace): JSX.Element {
  const kind = `grid-cell ${column.type.toLowerCase()}${activeColumn === at ? ' active' : ''}`;
  const there = row !== null && row !== 'gone';
  const cell = there ? row.cells[at] : undefined;
  return (
    // biome-ignore lint/a11y: the keys of the grid do the same; it has the focus
    <div
      role="gridcell"
      id={`cell-${index}-${at}`}
      class={kind}
      aria-colindex={at + 2}
      style={style}
      onClick={() => {
        // not if text was selected for copying
        if (there && window.getSelection()?.isCollapsed !== false) onOpen(at);
      }}
    >
      {row === null && <span class="skeleton" />}
      {row === 'gone' && at === 0 && <span class="quiet">deleted</span>}
      {there && (cell === null || cell === undefined) && <span class="none">no value</span>}
      {cell && (
        <>
          {cell.link === undefined ? (
            <span class="cut">{cell.text}</span>
          ) : (
            // the grid has the focus
            <a
              class="cut"
              href={cell.link}
              target="_blank"
              rel="noreferrer"
              tabIndex={-1}
              onClick={(event) => event.stopPropagation()}
            >
              {cell.text}
            </a>
          )}
          {cell.cut && <span class="more-text">…</span>}
        </>
      )}
    </div>
  );
}
