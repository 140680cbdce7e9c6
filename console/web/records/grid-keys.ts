/** What a key does in the grid (WAI-ARIA Authoring Practices, "Grid Pattern"). */
export type GridKey =
  | { readonly kind: 'move'; readonly rows: number; readonly columns: number; readonly extend: boolean }
  | { readonly kind: 'select' | 'selectAll' | 'clear' | 'open' | 'delete' | 'end' };

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
}

interface Extent {
  readonly pageRows: number;
  readonly lastRow: number;
  readonly lastColumn: number;
}

/** Null: the key is not the grid's. */
export function gridKey(event: Pressed, { pageRows, lastRow, lastColumn }: Extent): GridKey | null {
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
  switch (event.key) {
    case 'ArrowDown':
      return move(1, 0);
    case 'ArrowUp':
      return move(-1, 0);
    case 'ArrowRight':
      return move(0, 1);
    case 'ArrowLeft':
      return move(0, -1);
    case 'PageDown':
      return move(pageRows, 0);
    case 'PageUp':
      return move(-pageRows, 0);
    case 'Home':
      return move(0, -lastColumn);
    case 'End':
      return move(0, lastColumn);
    case ' ':
      return { kind: 'select' };
    case 'Enter':
    case 'F2':
      return { kind: 'open' };
    case 'Escape':
      return { kind: 'clear' };
    case 'Delete':
      return { kind: 'delete' };
    default:
      return null;
  }
}
