import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatNumber } from '../parts/format.ts';
import { announce } from '../parts/toast.tsx';
import type { Filter } from './filters.ts';
import type { GridColumn } from './grid-columns.ts';
import { GridHead } from './grid-head.tsx';
import { type GridKey, gridKey } from './grid-keys.ts';
import { GridRow, selectWidth } from './grid-row.tsx';
import type { RecordPages } from './record-pages.ts';
import type { RecordView } from './record-view.ts';
import { columnSpan, columnStarts, placedRows, placeRows, rowSpan, scrollToRow } from './row-window.ts';
import { extended, type Selected, toggled } from './selection.ts';
import { useViewport } from './use-viewport.ts';

const rowHeight = 34;
/** Of the two rows of the head; they stay in sight. */
const headHeight = 76;
const overscan = 8;
/** Rows that stand for those that are not read yet. */
const expectedRows = 30;

export interface RecordGridProps {
  readonly label: string;
  readonly pages: RecordPages;
  readonly columns: readonly GridColumn[];
  readonly view: RecordView;
  readonly problems: ReadonlyMap<string, string>;
  readonly onSort: (column: string, adds: boolean) => void;
  readonly onFilter: (column: string, filter: Filter | null) => void;
  readonly selected: Selected;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  /** How many records there are; null when that is not known. */
  readonly total: number | null;
  /** Grows when the last record is to be shown. */
  readonly jumps: number;
  readonly onOpen: (id: string, column: string) => void;
  readonly onDelete: (ids: readonly string[]) => void;
}

interface Place {
  readonly row: number;
  readonly column: number;
}

/** Records in a grid of the WAI-ARIA kind: one stop of the Tab key, arrows within; only what is seen is drawn. */
export function RecordGrid(props: RecordGridProps): JSX.Element {
  const { pages, columns, onSelect } = props;
  const loaded = (): ReadonlySet<string> => new Set([...pages.rows()].map(({ id }) => id));
  const selected = props.selected === 'all' ? loaded() : props.selected;
  const grid = useRef<HTMLDivElement>(null);
  const { width, height, scrollTop, scrollLeft, read } = useViewport(grid);
  const [base, setBase] = useState(0);
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [jumping, setJumping] = useState(false);
  const anchor = useRef(0);
  const starts = useMemo(() => columnStarts(columns.map(({ width }) => width)), [columns]);
  const rows = pages.known + (pages.complete || pages.error !== null ? 0 : expectedRows);
  const bodyHeight = Math.max(rowHeight, height - headHeight);
  const span = rowSpan({
    scrollTop,
    height: bodyHeight,
    rowHeight,
    rows: Math.min(rows - base, placedRows),
    overscan,
  });
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
    const placed = placeRows({ base, scrollTop, rowHeight, rows });
    if (placed.base === base || jumping) return;
    // both at once, so that the rows are drawn again where they were
    grid.current?.scrollBy({ top: placed.scrollBy });
    read();
    setBase(placed.base);
  }, [base, scrollTop, rows]);

  const jump = (): void => {
    pages.toEnd(props.total);
    setJumping(true);
  };
  useEffect(() => {
    if (props.jumps > 0) jump();
  }, [props.jumps]);
  useLayoutEffect(() => {
    if (!jumping || !(pages.complete || pages.error !== null)) return;
    const last = pages.known - 1;
    const lastBase = Math.max(0, rows - placedRows);
    // the rows around the last one have to have a place before it can be scrolled to
    if (base !== lastBase) setBase(lastBase);
    else if (active.row !== last) moveTo({ row: last, column: active.column });
    else if (pages.row(last) !== null || pages.error !== null) setJumping(false);
  });

  const idAt = (row: number): string | null => {
    const found = pages.row(row);
    return found === null || found === 'gone' ? null : found.id;
  };
  const moveTo = (place: Place): void => {
    const row = Math.max(0, Math.min(place.row, pages.known - 1));
    const column = Math.max(0, Math.min(place.column, columns.length - 1));
    setActive({ row, column });
    const element = grid.current;
    if (element === null) return;
    const { scrollTop } = element;
    const down = scrollToRow({ row, base, scrollTop, height: bodyHeight, rowHeight });
    const [left, right] = [starts[column] ?? 0, starts[column + 1] ?? 0];
    const across =
      left < element.scrollLeft ? left : Math.max(element.scrollLeft, right - width + selectWidth);
    element.scrollTo({ top: scrollTop + down, left: across });
  };
  const select = (row: number, range: boolean): void => {
    const id = idAt(row);
    if (id === null) return;
    const next = range ? extended(selected, anchor.current, row, idAt) : toggled(selected, id);
    anchor.current = row;
    onSelect(next);
    announce(`${formatNumber(next.size)} selected`);
  };
  const run = (key: GridKey): void => {
    if (key.kind === 'end') jump();
    else if (key.kind === 'move') {
      const to = { row: active.row + key.rows, column: active.column + key.columns };
      if (key.extend) {
        anchor.current = active.row;
        onSelect(extended(selected, active.row, Math.max(0, Math.min(to.row, pages.known - 1)), idAt));
      }
      moveTo(to);
    } else if (key.kind === 'select') select(active.row, false);
    else if (key.kind === 'selectAll') onSelect(loaded());
    else if (key.kind === 'clear') onSelect(new Set());
    else {
      const id = idAt(active.row);
      if (id === null) return;
      if (key.kind === 'open') props.onOpen(id, columns[active.column]?.name ?? 'id');
      else props.onDelete(selected.size > 0 ? [...selected] : [id]);
    }
  };

  const activeShown =
    active.row >= first && active.row < end && active.column >= shown.first && active.column < shown.end;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table can't leave out the rows that are not seen
    <div
      ref={grid}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={pages.complete ? pages.known + 2 : -1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      aria-busy={pages.loading}
      aria-activedescendant={activeShown ? `cell-${active.row}-${active.column}` : undefined}
      onKeyDown={(event) => {
        // the filters in the head have keys of their own
        if (event.target !== event.currentTarget) return;
        const key = gridKey(event, {
          pageRows: Math.floor(bodyHeight / rowHeight) - 1,
          lastRow: pages.known,
          lastColumn: columns.length,
        });
        if (key === null) return;
        event.preventDefault();
        run(key);
      }}
    >
      <GridHead
        {...props}
        starts={starts}
        shown={shown}
        allSelected={pages.kept > 0 && selected.size >= pages.kept}
        onSelectAll={(all) => run({ kind: all ? 'selectAll' : 'clear' })}
      />
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      <div
        role="rowgroup"
        class="grid-body"
        style={{
          height: `${Math.min(rows - base, placedRows) * rowHeight}px`,
          width: `${(starts.at(-1) ?? 0) + selectWidth}px`,
        }}
      >
        {Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset).map((row) => {
          const found = pages.row(row);
          return (
            <GridRow
              key={row}
              index={row}
              top={(row - base) * rowHeight}
              row={found}
              columns={columns}
              starts={starts}
              shown={shown}
              selected={found !== null && found !== 'gone' && selected.has(found.id)}
              activeColumn={row === active.row ? active.column : null}
              onSelect={(range) => select(row, range)}
              onOpen={(column) => {
                setActive({ row, column });
                const id = idAt(row);
                if (id !== null) props.onOpen(id, columns[column]?.name ?? 'id');
              }}
            />
          );
        })}
      </div>
    </div>
  );
}
