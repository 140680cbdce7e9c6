import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { SearchField, SelectField, TextField } from '../parts/field.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { place, setQuery } from '../router.ts';
import { type FileFilter, type FileOrder, fileOrders } from './file-api.ts';

const types = {
  '': 'All types',
  'image/': 'Images',
  'video/': 'Video',
  'audio/': 'Audio',
  'text/': 'Text',
  'application/pdf': 'PDF',
  'application/': 'Other documents',
};

/** The filter is part of the URL, so that a link shows the same files. */
export function currentFilter(): FileFilter {
  const { query } = place.value;
  const type = query.get('type') ?? '';
  return {
    name: query.get('name') ?? '',
    type: Object.hasOwn(types, type) ? type : '',
    from: day(query.get('from')),
    to: day(query.get('to')),
    folder: folderId(query.get('folder')),
  };
}

export function currentOrder(): FileOrder {
  const order = place.value.query.get('order') ?? '';
  return Object.hasOwn(fileOrders, order) ? (order as FileOrder) : 'newest';
}

function day(text: string | null): string {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) ? text : '';
}

function folderId(text: string | null): string {
  return text !== null && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : '';
}

export function isFiltered(filter: FileFilter): boolean {
  return Object.values(filter).some((value) => value !== '');
}

export function clearFilter(): void {
  setQuery({ name: '', type: '', from: '', to: '', folder: '' });
}

const typingMs = 300;

export function FilterRow({ filter }: { readonly filter: FileFilter }): JSX.Element {
  const name = useDraft(filter.name, (text) => setQuery({ name: text }), typingMs);
  const day = (key: 'from' | 'to', label: string): JSX.Element => (
    <TextField
      label={label}
      hideLabel
      type="date"
      value={filter[key]}
      onInput={(value) => setQuery({ [key]: value })}
    />
  );
  return (
    <search class="row filters">
      <SearchField label="Search by name" value={name.text} onInput={name.setText} />
      <SelectField
        label="Type"
        hideLabel
        value={filter.type}
        options={Object.entries(types)}
        onInput={(value) => setQuery({ type: value })}
      />
      <span class="row dates">
        {day('from', 'Uploaded from')}
        <span class="quiet" aria-hidden="true">
          –
        </span>
        {day('to', 'Uploaded until')}
      </span>
      <SelectField
        label="Order"
        hideLabel
        value={currentOrder()}
        options={Object.entries(fileOrders).map(([value, { label }]) => [value, label])}
        onInput={(value) => setQuery({ order: value === 'newest' ? '' : value })}
      />
      {isFiltered(filter) && (
        <Button kind="quiet" onClick={clearFilter}>
          Clear
        </Button>
      )}
    </search>
  );
}
