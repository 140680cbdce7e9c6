import { Button } from '../parts/button.tsx';
import type { Column } from '../parts/data-table.tsx';
import { formatSince } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';

interface Made {
  readonly slug: string;
  readonly createdAt: string;
}

/** The last columns of a list of what has a slug: when it was made, and a button that drops it. */
export function madeAndDrop<Row extends Made>(drop: (row: Row) => void): readonly Column<Row>[] {
  return [
    {
      key: 'made',
      label: 'Made',
      cell: ({ createdAt }) => <time dateTime={createdAt}>{formatSince(createdAt)}</time>,
    },
    {
      key: 'tools',
      label: 'Actions',
      tools: true,
      cell: (row) => (
        <Button kind="quiet" small label={`Drop ${row.slug}`} onClick={() => drop(row)}>
          <Icon name="trash" />
        </Button>
      ),
    },
  ];
}
