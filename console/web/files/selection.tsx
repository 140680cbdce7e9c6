import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CheckboxField } from '../parts/field.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import type { Pages } from '../parts/load.ts';
import type { StoredFile } from './file-api.ts';

/** Names of selected files, or all that match the filter. */
export type FileSelection = ReadonlySet<string> | 'all';

export const nothing: FileSelection = new Set();

export interface Selecting {
  readonly selected: FileSelection;
  readonly set: (selected: FileSelection) => void;
  /** Selects or deselects a file. */
  readonly select: (name: string, on: boolean) => void;
}

/** The selected files of a list. @param inputs when they change, nothing is selected */
export function useSelection(items: readonly StoredFile[], inputs: readonly unknown[]): Selecting {
  const [selected, set] = useState<FileSelection>(nothing);
  useEffect(() => set(nothing), inputs);
  return {
    selected,
    set,
    select(name, on) {
      const next = new Set(selected === 'all' ? items.map((file) => file.name) : selected);
      if (on) next.add(name);
      else next.delete(name);
      set(next);
    },
  };
}

interface SelectionBarProps {
  readonly files: Pages<StoredFile>;
  readonly selecting: Selecting;
  /** Buttons for the selected files. */
  readonly actions: (count: string) => ComponentChildren;
}

export function SelectionBar({ files, selecting, actions }: SelectionBarProps): JSX.Element {
  const { selected, set } = selecting;
  const { items, total = 0 } = files;
  const shown = items?.length ?? 0;
  const count = selected === 'all' ? total : selected.size;
  return (
    <fieldset class={`row${count > 0 ? ' selection' : ''}`}>
      <legend class="unseen">Selected files</legend>
      <CheckboxField
        label={
          count === 0
            ? countOf(total, 'file')
            : `${formatNumber(count)} of ${countOf(total, 'file')} selected`
        }
        checked={count >= shown}
        onChange={(on) => set(on ? new Set(items?.map(({ name }) => name)) : nothing)}
      />
      {count > 0 && actions(countOf(count, 'file'))}
      {count >= shown && count < total && (
        <Button small onClick={() => set('all')}>
          Select all {countOf(total, 'file')}
        </Button>
      )}
      {count > 0 && (
        <Button small kind="quiet" onClick={() => set(nothing)}>
          Clear the selection
        </Button>
      )}
    </fieldset>
  );
}

interface FileCheckboxProps {
  readonly file: StoredFile;
  readonly selecting: Selecting;
}

export function FileCheckbox({ file, selecting: { selected, select } }: FileCheckboxProps): JSX.Element {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${file.originalName}`}
      checked={selected === 'all' || selected.has(file.name)}
      onChange={(event) => select(file.name, event.currentTarget.checked)}
    />
  );
}
