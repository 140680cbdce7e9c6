import { IconButton } from '../parts/button.tsx';
import type { Column } from '../parts/data-table.tsx';
import { Time } from '../parts/time.tsx';

interface Created {
  readonly slug: string;
  readonly createdAt: string;
}

/** The last columns of a list of projects or spaces: the time of creation, and a button that drops it. */
export function createdAndDrop<Row extends Created>(drop: (row: Row) => void): readonly Column<Row>[] {
  return [
    { key: 'created', label: 'Created', cell: ({ createdAt }) => <Time date={createdAt} /> },
    {
      key: 'tools',
      label: 'Actions',
      tools: true,
      cell: (row) => <IconButton icon="trash" label={`Drop ${row.slug}`} onClick={() => drop(row)} />,
    },
  ];
}
