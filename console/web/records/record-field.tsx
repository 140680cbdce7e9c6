import type { JSX } from 'preact';
import { useId, useLayoutEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { type Field, hasDefault } from '../projects/structure.ts';
import { shownSize } from './cell-text.ts';
import type { FormEntry } from './record-form.ts';

export interface RecordFieldProps {
  readonly field: Field;
  readonly index: number;
  readonly isNew: boolean;
  readonly entry: FormEntry;
  readonly problem: string | undefined;
  readonly onChange: (entry: FormEntry) => void;
}

/** A text area with more than this takes long to open. */
const largeText = 100_000;

/** A field of the form, by its type, with a way to say that it has no value. */
export function RecordField({
  field,
  index,
  isNew,
  entry,
  problem,
  onChange,
}: RecordFieldProps): JSX.Element {
  const id = useId();
  const [unfolded, setUnfolded] = useState(false);
  // the button that had the focus is gone
  useLayoutEffect(() => {
    if (unfolded) document.getElementById(id)?.focus();
  }, [unfolded]);
  const large = entry.text.length > largeText && !unfolded;
  const hint = hintOf(field, isNew);
  const described = [hint !== null && `${id}-hint`, problem !== undefined && `${id}-error`].filter(Boolean);
  const common: Common = {
    id,
    'data-field': index,
    'aria-required': field.required,
    'aria-invalid': problem === undefined ? undefined : true,
    'aria-describedby': described.join(' ') || undefined,
  };
  return (
    <div class={`field${problem === undefined ? '' : ' wrong'}`}>
      <div class="row apart">
        <label for={id}>
          <strong>{field.name}</strong> <span class="badge">{field.type}</span>
          {field.required && <span class="quiet"> required</span>}
          {field.unique && <span class="quiet"> unique</span>}
        </label>
        {!entry.none && (!field.required || hasDefault(field)) && (
          <Button
            small
            kind="quiet"
            label={`${field.name}: no value`}
            onClick={() => onChange({ text: '', none: true })}
          >
            No value
          </Button>
        )}
      </div>
      {hint !== null && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {large ? (
        <div class="row">
          <code class="cut">{entry.text.slice(0, 200)}…</code>
          <button
            type="button"
            class="button small"
            id={id}
            data-field={index}
            aria-label={`Edit all ${shownSize(entry.text.length)} of ${field.name}`}
            onClick={() => setUnfolded(true)}
          >
            Edit all {shownSize(entry.text.length)}
          </button>
        </div>
      ) : (
        <Control field={field} entry={entry} common={common} onChange={onChange} />
      )}
      {problem !== undefined && (
        <div class="field-error" id={`${id}-error`}>
          {problem}
        </div>
      )}
    </div>
  );
}

/** What all controls have. */
interface Common {
  readonly id: string;
  readonly 'data-field': number;
  readonly 'aria-required': boolean;
  readonly 'aria-invalid': boolean | undefined;
  readonly 'aria-describedby': string | undefined;
}

interface ControlProps {
  readonly field: Field;
  readonly entry: FormEntry;
  readonly common: Common;
  readonly onChange: (entry: FormEntry) => void;
}

function Control({ field, entry, common, onChange }: ControlProps): JSX.Element {
  const onInput = (event: Event): void =>
    onChange({ text: (event.currentTarget as HTMLInputElement).value, none: false });
  if (field.type === 'BOOLEAN') {
    return (
      <select
        {...common}
        value={entry.none ? '' : entry.text}
        onChange={(event) =>
          onChange({ text: event.currentTarget.value, none: event.currentTarget.value === '' })
        }
      >
        <option value="">no value</option>
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  }
  const placeholder = entry.none ? (field.hashed ? 'stays as it is' : 'no value') : 'empty text';
  if (field.hashed) {
    return (
      <input
        {...common}
        type="password"
        autocomplete="new-password"
        value={entry.text}
        onInput={(event) => {
          const text = event.currentTarget.value;
          onChange({ text, none: text === '' });
        }}
      />
    );
  }
  if (field.type === 'NUMBER') {
    return (
      <input
        {...common}
        type="text"
        inputMode="decimal"
        autocomplete="off"
        placeholder={placeholder}
        value={entry.text}
        onInput={onInput}
      />
    );
  }
  const json = field.type !== 'TEXT';
  return (
    <textarea
      {...common}
      rows={json ? 4 : lines(entry.text)}
      class={json ? 'mono' : undefined}
      spellcheck={!json}
      placeholder={placeholder}
      value={entry.text}
      onInput={onInput}
    />
  );
}

function lines(text: string): number {
  return Math.min(
    10,
    Math.max(1, text.slice(0, 2000).split('\n').length, Math.ceil(Math.min(text.length, 2000) / 80)),
  );
}

function hintOf(field: Field, isNew: boolean): string | null {
  const parts = [field.description ?? ''];
  if (field.hashed)
    parts.push(
      isNew ? 'Stored as a hash: it is never shown.' : 'It is never shown. What you write here replaces it.',
    );
  if (field.type === 'ARRAY') parts.push('JSON, such as ["a", "b"].');
  if (field.type === 'OBJECT') parts.push('JSON, such as {"city": "London"}.');
  return parts.filter(Boolean).join(' ') || null;
}
