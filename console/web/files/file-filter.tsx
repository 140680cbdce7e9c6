import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { place, setQuery } from '../router.ts';
import type { FileFilter } from './file-api.ts';

const types = [
  { value: '', label: 'All types' },
  { value: 'image/', label: 'Images' },
  { value: 'video/', label: 'Video' },
  { value: 'audio/', label: 'Audio' },
  { value: 'text/', label: 'Text' },
  { value: 'application/pdf', label: 'PDF' },
  { value: 'application/', label: 'Other documents' },
];

/** The filter is in the address: a link shows the same files. */
export function currentFilter(): FileFilter {
  const { query } = place.value;
  const type = query.get('type') ?? '';
  return {
    name: query.get('name') ?? '',
    type: types.some(({ value }) => value === type) ? type : '',
    from: day(query.get('from')),
    to: day(query.get('to')),
  };
}

function day(text: string | null): string {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) ? text : '';
}

export function isFiltered(filter: FileFilter): boolean {
  return Object.values(filter).some((value) => value !== '');
}

export function clearFilter(): void {
  setQuery({ name: null, type: null, from: null, to: null });
}

const typingMs = 300;

export function FilterRow({ filter }: { readonly filter: FileFilter }): JSX.Element {
  const [name, setName] = useState(filter.name);
  const sent = useRef(filter.name);
  useEffect(() => {
    // the back button, or "clear"; what was typed here may have gone on since
    if (sent.current !== filter.name) setName(filter.name);
    sent.current = filter.name;
  }, [filter.name]);
  useEffect(() => {
    if (name === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = name;
      setQuery({ name: name || null });
    }, typingMs);
    return () => clearTimeout(timer);
  }, [name]);
  return (
    <search class="filters">
      <TextField
        label="Search by name"
        hideLabel
        type="search"
        placeholder="Search by name"
        maxLength={200}
        value={name}
        onInput={setName}
      />
      <SelectField
        label="Type"
        hideLabel
        value={filter.type}
        options={types}
        onChange={(value) => setQuery({ type: value || null })}
      />
      <span class="dates">
        <TextField
          label="Uploaded from"
          hideLabel
          type="date"
          value={filter.from}
          onInput={(value) => setQuery({ from: value || null })}
        />
        <span class="quiet" aria-hidden="true">
          –
        </span>
        <TextField
          label="Uploaded until"
          hideLabel
          type="date"
          value={filter.to}
          onInput={(value) => setQuery({ to: value || null })}
        />
      </span>
      {isFiltered(filter) && (
        <Button kind="quiet" onClick={clearFilter}>
          Clear
        </Button>
      )}
    </search>
  );
}
