import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { useForm } from '../parts/form.ts';
import { formatTime } from '../parts/format.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { announce, toast } from '../parts/toast.tsx';
import { Problem } from '../problem.ts';
import type { Field } from '../projects/structure.ts';
import { RecordField } from './record-field.tsx';
import { type FormEntry, fieldProblems, formOf, readForm, type StoredRecord } from './record-form.ts';
import type { RecordsApi } from './records-api.ts';

export interface RecordDialogProps {
  readonly api: RecordsApi;
  readonly fields: readonly Field[];
  /** Null: a new record. */
  readonly id: string | null;
  /** The field whose cell was opened. */
  readonly focus: string | null;
  readonly onClose: () => void;
  readonly onAdded: () => void;
  readonly onChanged: (record: StoredRecord) => void;
  /** Null: not granted. */
  readonly onDelete: ((id: string) => void) | null;
  /** Whether it may be saved. */
  readonly mayChange: boolean;
}

interface RecordFormProps extends RecordDialogProps {
  readonly record: StoredRecord | null;
  readonly onEdit: () => void;
  /** Closes the dialog without asking. */
  readonly onSaved: () => void;
}

/** A form for the structure. Problems of the API are shown at their fields. */
export function RecordFormView(props: RecordFormProps): JSX.Element {
  const { api, fields, record, focus } = props;
  const [values, setValues] = useState(() => formOf(fields, record));
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const element = useRef<HTMLFormElement>(null);
  const set = (name: string, entry: FormEntry): void => {
    props.onEdit();
    setValues((last) => new Map(last).set(name, entry));
    setProblems((last) => new Map([...last].filter(([field]) => field !== name)));
  };
  const form = useForm(async (signal) => {
    const reading = readForm(fields, values, record);
    if (reading.problems.size > 0) return refuse(reading.problems);
    if (Object.keys(reading.body).length === 0) {
      if (record !== null) return props.onSaved();
      throw new Problem('Fill in at least one field.');
    }
    try {
      if (record === null) {
        await api.add(reading.body, signal);
        props.onAdded();
        toast('Record added.');
      } else {
        props.onChanged(await api.change(String(record.id), reading.body, signal));
        toast('Record saved.');
      }
    } catch (thrown) {
      if (!(thrown instanceof Problem)) throw thrown;
      const { byField, others } = fieldProblems(thrown.details, fields);
      refuse(byField);
      if (byField.size === 0 || others.length > 0) throw thrown;
      return;
    }
    props.onSaved();
  });
  /** Shows the problems at their fields, and moves to the first one. */
  const refuse = (found: ReadonlyMap<string, string>): void => {
    setProblems(found);
    const index = fields.findIndex(({ name }) => found.has(name));
    if (index < 0) return;
    announce('Some fields need to be corrected.');
    focusField(element.current, index);
  };
  // focus the opened field, or the first, before the next key press
  useLayoutEffect(() => {
    const index = fields.findIndex(({ name }) => name === focus);
    focusField(element.current, Math.max(0, index));
  }, []);
  return (
    <form ref={element} class="stack" onSubmit={form.submit} noValidate>
      {form.problem !== null && <ProblemNote problem={form.problem} />}
      {fields.map((field, index) => (
        <RecordField
          key={field.name}
          project={api.project}
          field={field}
          index={index}
          isNew={record === null}
          readOnly={!props.mayChange}
          entry={values.get(field.name) ?? { text: '', none: true }}
          problem={problems.get(field.name)}
          onChange={(entry) => set(field.name, entry)}
        />
      ))}
      {record !== null && (
        <p class="quiet">
          <code>{String(record.id)}</code> · created {formatTime(String(record.createdAt))} · changed{' '}
          {formatTime(String(record.updatedAt))}
        </p>
      )}
      <div class="row dialog-actions sticky">
        <Button onClick={props.onClose}>{props.mayChange ? 'Cancel' : 'Close'}</Button>
        {props.mayChange && (
          <Button kind="primary" type="submit" busy={form.busy}>
            {record === null ? 'Add the record' : 'Save'}
          </Button>
        )}
      </div>
    </form>
  );
}

function focusField(form: HTMLFormElement | null, index: number): void {
  const control = form?.querySelector<HTMLElement>(`[data-field="${index}"]`);
  if (!control) return;
  // a dialog that opens later focuses the element with this attribute
  control.autofocus = true;
  control.focus();
  control.scrollIntoView({ block: 'center' });
}
