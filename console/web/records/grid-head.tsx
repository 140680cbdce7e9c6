import type { JSX } from 'preact';
import { Icon } from '../parts/icon.tsx';
import { FilterCell } from './filter-cell.tsx';
import type { Filter } from './filters.ts';
import { type CellPlace, cellsOf, type RowColumns, rowWidth } from './grid-row.tsx';
import type { RecordView } from './record-view.ts';

export interface GridHeadProps extends RowColumns {
  readonly view: RecordView;
  readonly problems: ReadonlyMap<string, string>;
  readonly onSort: (column: string, adds: boolean) => void;
  readonly onFilter: (column: string, filter: Filter | null) => void;
  readonly allSelected: boolean;
  readonly onSelectAll: (all: boolean) => void;
}

/** Two sticky rows: column names, for sorting, and filters. */
export function GridHead(props: GridHeadProps): JSX.Element {
  const { view, onSort } = props;
  const cells = cellsOf(props);
  return (
    // biome-ignore lint/a11y: a table can't leave out the columns that are not seen
    <div role="rowgroup" class="grid-head" style={{ width: rowWidth(props) }}>
      {/* biome-ignore lint/a11y: see above */}
      <div role="row" aria-rowindex={1} class="grid-names">
        {/* biome-ignore lint/a11y: see above */}
        <div role="columnheader" aria-colindex={1} class="grid-cell select">
          <input
            type="checkbox"
            aria-label="Select all loaded records"
            checked={props.allSelected}
            onChange={(event) => props.onSelectAll(event.currentTarget.checked)}
          />
        </div>
        {cells.map((place) => (
          <NameCell key={place.column.name} {...place} {...{ view, onSort }} />
        ))}
      </div>
      {/* biome-ignore lint/a11y: see above */}
      <div role="row" aria-rowindex={2} class="grid-filters">
        {/* biome-ignore lint/a11y: see above */}
        <div role="gridcell" aria-colindex={1} class="grid-cell select" />
        {cells.map(({ column, at, style }) => (
          // biome-ignore lint/a11y: see above
          <div key={column.name} role="gridcell" aria-colindex={at + 2} class="grid-cell" style={style}>
            <FilterCell
              column={column}
              filter={view.filters.get(column.name)}
              problem={props.problems.get(column.name)}
              onFilter={(filter) => props.onFilter(column.name, filter)}
            />
          </div>
        ))}
      </div>
    </div>
  );
}

type NameCellProps = CellPlace & Pick<GridHeadProps, 'view' | 'onSort'>;

function NameCell({ column, at, style, view, onSort }: NameCellProps): JSX.Element {
  const place = view.sorts.findIndex(({ by }) => by === column.name);
  const order = view.sorts[place]?.order ?? null;
  const several = order !== null && view.sorts.length > 1;
  const next = order === null ? 'Sort ascending' : order === 'asc' ? 'Sort descending' : 'Remove the sort';
  return (
    // biome-ignore lint/a11y: a table can't leave out the columns that are not seen
    <div
      role="columnheader"
      class={`grid-cell ${column.type.toLowerCase()}`}
      aria-colindex={at + 2}
      aria-sort={order === null ? 'none' : order === 'asc' ? 'ascending' : 'descending'}
      style={style}
    >
      <button
        type="button"
        class="grid-name"
        title={`${column.name} (${column.type}): ${next}. Shift-click to sort by several columns.`}
        onClick={(event) => onSort(column.name, event.shiftKey)}
      >
        <span class="cut">{column.name}</span>
        {order !== null && <Icon name={order === 'asc' ? 'up' : 'down'} />}
        {several && <span>{place + 1}</span>}
      </button>
    </div>
  );
}
