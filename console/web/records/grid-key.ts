/** The effect of a key in the grid (WAI-ARIA Authoring Practices, "Grid Pattern"). */
export type GridKey =
  | { readonly kind: 'move'; readonly rows: number; readonly columns: number; readonly extend: boolean }
  | { readonly kind: 'select' | 'selectAll' | 'clear' | 'open' | 'delete' | 'end' };

const kinds: Readonly<Record<string, 'select' | 'open' | 'clear' | 'delete'>> = {
  ' ': 'select',
  Enter: 'open',
  F2: 'open',
  Escape: 'clear',
  Delete: 'delete',
};

interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}

interface GridExtent {
  readonly pageRows: number;
  readonly lastRow: number;
  readonly lastColumn: number;
}

/** Null: the grid does not handle the key. */
export function gridKey(event: KeyPress, { pageRows, lastRow, lastColumn }: GridExtent): GridKey | null {
  const control = event.ctrlKey || event.metaKey;
  if (event.altKey) return null;
  const move = (rows: number, columns: number): GridKey => ({
    kind: 'move',
    rows,
    columns,
    extend: event.shiftKey && rows !== 0,
  });
  if (control) {
    if (event.key === 'Home') return move(-lastRow, -lastColumn);
    if (event.key === 'End') return { kind: 'end' };
    return event.key.toLowerCase() === 'a' ? { kind: 'selectAll' } : null;
  }
  const steps: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
    ArrowRight: [0, 1],
    ArrowLeft: [0, -1],
    PageDown: [pageRows, 0],
    PageUp: [-pageRows, 0],
    Home: [0, -lastColumn],
    End: [0, lastColumn],
  };
  const step = steps[event.key];
  if (step !== undefined) return move(...step);
  const kind = kinds[event.key];
  return kind === undefined ? null : { kind };
}
