import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { GridHead, type GridHeadProps } from './grid-head.tsx';
import { gridKey } from './grid-key.ts';
import { GridRow, rowWidth } from './grid-row.tsx';
import { type GridSelection, type GridSelectionProps, useGridSelection } from './use-grid-selection.ts';
import { type GridWindow, type GridWindowProps, rowHeight, useGridWindow } from './use-grid-window.ts';
import type { Marks } from './use-live-records.ts';

export interface RecordGridProps
  extends GridWindowProps,
    GridSelectionProps,
    Pick<GridHeadProps, 'view' | 'problems' | 'onSort' | 'onFilter'> {
  readonly label: string;
  /** The rows are of an earlier view: a filter can't be read. */
  readonly isStale: boolean;
  readonly marks: Marks;
}

/** Records in a grid of the WAI-ARIA kind: one tab stop, arrow keys within; only visible cells are drawn. */
export function RecordGrid(props: RecordGridProps): JSX.Element {
  const { pages, columns } = props;
  const grid = useRef<HTMLDivElement>(null);
  const drawn = useGridWindow(grid, props);
  const selection = useGridSelection(props, drawn);
  const { first, end, shown, active } = drawn;
  const { selected, run } = selection;
  const activeShown =
    active.row >= first && active.row < end && active.column >= shown.first && active.column < shown.end;
  const onKeyDown = (event: KeyboardEvent): void => {
    // filters in the head handle their own keys
    if (event.target !== event.currentTarget) return;
    const key = gridKey(event, {
      pageRows: Math.floor(drawn.bodyHeight / rowHeight) - 1,
      lastRow: pages.known,
      lastColumn: columns.length,
    });
    if (key === null) return;
    event.preventDefault();
    run(key);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table can't leave out the rows that are not seen
    <div
      ref={grid}
      class={props.isStale ? 'grid stale' : 'grid'}
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={pages.complete ? pages.known + 2 : -1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      aria-busy={pages.loading}
      aria-activedescendant={activeShown ? `cell-${active.row}-${active.column}` : undefined}
      onKeyDown={onKeyDown}
    >
      <GridHead
        {...props}
        starts={drawn.starts}
        shown={shown}
        allSelected={pages.kept > 0 && selected.size >= pages.kept}
        onSelectAll={(all) => run({ kind: all ? 'selectAll' : 'clear' })}
      />
      <GridBody {...props} drawn={drawn} selection={selection} />
    </div>
  );
}

interface GridBodyProps extends Pick<RecordGridProps, 'pages' | 'columns' | 'marks'> {
  readonly drawn: GridWindow;
  readonly selection: GridSelection;
}

function GridBody({ pages, columns, marks, drawn, selection }: GridBodyProps): JSX.Element {
  const { base, placed, first, end, starts, shown, active } = drawn;
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above
    <div
      role="rowgroup"
      class="grid-body"
      style={{ height: `${placed * rowHeight}px`, width: rowWidth({ columns, starts, shown }) }}
    >
      {Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset).map((row) => {
        const found = pages.row(row);
        const id = found === null || found === 'gone' ? null : found.id;
        return (
          <GridRow
            key={row}
            index={row}
            top={(row - base) * rowHeight}
            row={found}
            {...{ columns, starts, shown }}
            selected={id !== null && selection.selected.has(id)}
            mark={id === null ? undefined : marks.get(id)}
            activeColumn={row === active.row ? active.column : null}
            onSelect={(range) => selection.select(row, range)}
            onOpen={(column) => {
              drawn.setActive({ row, column });
              selection.open(row, column);
            }}
          />
        );
      })}
    </div>
  );
}
