import type { ComponentChildren, JSX } from 'preact';

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Right-aligned, with tabular figures. */
  readonly numeric?: boolean;
  /** A column of buttons: only screen readers get its label. */
  readonly tools?: boolean;
}

export function toolsColumn<Row>(cell: Column<Row>['cell']): Column<Row> {
  return { label: 'Actions', tools: true, cell };
}

export interface DataTableProps<Row> {
  /** The contents of the table, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** null while the first page loads: placeholder rows of the same height are shown. */
  readonly rows: readonly Row[] | null;
  readonly rowKey: (row: Row) => string;
  /** On a narrow screen: each value on a line with its label, or all values in one line without labels. */
  readonly cards?: 'labelled' | 'plain';
}

/** A table; on a narrow screen each row is a card. The first column names the row. */
export function DataTable<Row>(props: DataTableProps<Row>): JSX.Element {
  const { caption, columns, rows, rowKey, cards = 'labelled' } = props;
  return (
    <div class="table-box">
      <table class={`data-table ${cards}`} aria-busy={rows === null}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ label, numeric, tools }, index) => (
              <th key={index} scope="col" class={numeric ? 'numeric' : undefined}>
                {tools ? <span class="unseen">{label}</span> : label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === null
            ? Array.from({ length: 5 }, (_, index) => (
                <tr key={index}>
                  {columns.map((_, index) => (
                    <td key={index}>
                      <span class="skeleton" />
                    </td>
                  ))}
                </tr>
              ))
            : rows.map((row) => (
                <tr key={rowKey(row)}>
                  {columns.map((column, index) => (
                    <Cell key={index} column={column} row={row} first={index === 0} />
                  ))}
                </tr>
              ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row, first }: { column: Column<Row>; row: Row; first: boolean }): JSX.Element {
  const kind = [column.numeric && 'numeric', column.tools && 'tools'].filter(Boolean).join(' ') || undefined;
  if (first) {
    return (
      <th scope="row" class={kind}>
        {column.cell(row)}
      </th>
    );
  }
  return (
    <td class={kind} data-label={column.tools ? undefined : column.label}>
      {column.cell(row)}
    </td>
  );
}
