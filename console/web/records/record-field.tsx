import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { type ControlIds, Labels } from '../parts/field.tsx';
import { formatBytes } from '../parts/format.ts';
import { type Field, hasDefault } from '../projects/structure.ts';
import { typeEntry } from './field-types.ts';
import { FileUpload } from './file-upload.tsx';
import type { FormEntry } from './record-form.ts';

export interface RecordFieldProps {
  readonly project: string;
  readonly field: Field;
  readonly index: number;
  readonly isNew: boolean;
  /** It is shown to somebody who may not save it. */
  readonly readOnly: boolean;
  readonly entry: FormEntry;
  readonly problem: string | undefined;
  readonly onChange: (entry: FormEntry) => void;
}

/** A text area with more than this takes long to open. */
const largeText = 100_000;

/** A field of the form, by type, which can be cleared to have no value. */
export function RecordField(props: RecordFieldProps): JSX.Element {
  const { project, field, index, isNew, readOnly, entry, problem, onChange } = props;
  const [unfolded, setUnfolded] = useState(false);
  // the focused button was removed
  useLayoutEffect(() => {
    if (unfolded) document.querySelector<HTMLElement>(`[data-field="${index}"]`)?.focus();
  }, [unfolded]);
  const large = entry.text.length > largeText && !unfolded;
  const canClear = !readOnly && !entry.none && (!field.required || hasDefault(field));
  const showAll = `${readOnly ? 'Show' : 'Edit'} all ${formatBytes(entry.text.length)}`;
  const label = (
    <>
      <strong>{field.name}</strong> <span class="badge">{field.type}</span>
      {field.required && <span class="quiet"> required</span>}
      {field.unique && <span class="quiet"> unique</span>}
    </>
  );
  const clear = (
    <Button
      small
      kind="quiet"
      label={`Clear ${field.name}: it then has no value`}
      onClick={() => onChange({ text: '', none: true })}
    >
      Clear
    </Button>
  );
  return (
    <Labels label={label} aside={canClear && clear} hint={hintOf(field, isNew)} error={problem} required>
      {(ids) => {
        const common = { ...ids, 'data-field': index, 'aria-required': field.required };
        return large ? (
          <div class="row">
            <code class="cut">{entry.text.slice(0, 200)}…</code>
            <button
              type="button"
              class="button small"
              id={ids.id}
              data-field={index}
              aria-label={`${showAll} of ${field.name}`}
              onClick={() => setUnfolded(true)}
            >
              {showAll}
            </button>
          </div>
        ) : (
          <>
            <Control {...{ field, entry, common, readOnly, onChange }} />
            {!readOnly && (field.type === 'FILE' || field.type === 'FILES') && (
              <FileUpload project={project} field={field} entry={entry} onChange={onChange} />
            )}
          </>
        );
      }}
    </Labels>
  );
}

interface ControlProps extends Pick<RecordFieldProps, 'field' | 'entry' | 'readOnly' | 'onChange'> {
  readonly common: ControlIds & { readonly 'data-field': number; readonly 'aria-required': boolean };
}

function Control({ field, entry, common, readOnly, onChange }: ControlProps): JSX.Element {
  const { control, inputMode } = typeEntry(field.type);
  const plainText = control === 'lines' && !field.hashed;
  const onInput = (event: Event): void => {
    const text = (event.currentTarget as HTMLInputElement).value;
    // only TEXT has the empty text as a value
    onChange({ text, none: text === '' && !plainText });
  };
  if (control === 'choice') {
    return (
      <select {...common} disabled={readOnly} value={entry.none ? '' : entry.text} onChange={onInput}>
        <option value="">no value</option>
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  }
  const shown = { ...common, readOnly, value: entry.text, onInput };
  if (field.hashed) return <input {...shown} type="password" autocomplete="new-password" />;
  if (control === 'date') return <input {...shown} type="date" />;
  if (control === 'line') {
    return <input {...shown} type="text" inputMode={inputMode} autocomplete="off" placeholder="no value" />;
  }
  const placeholder = entry.none ? 'no value' : 'empty text';
  const style = plainText ? { rows: lines(entry.text) } : { rows: 4, class: 'mono', spellcheck: false };
  return <textarea {...shown} {...style} placeholder={placeholder} />;
}

function lines(text: string): number {
  return Math.min(
    10,
    Math.max(1, text.slice(0, 2000).split('\n').length, Math.ceil(Math.min(text.length, 2000) / 80)),
  );
}

function hintOf(field: Field, isNew: boolean): string | undefined {
  const parts = [field.description ?? ''];
  if (field.hashed)
    parts.push(isNew ? 'Stored as a hash and never shown.' : 'Never shown. A new value replaces it.');
  parts.push(typeEntry(field.type).hint?.(field) ?? '');
  return parts.filter(Boolean).join(' ') || undefined;
}
