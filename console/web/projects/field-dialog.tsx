import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { CheckboxField, SelectField, TextField } from '../parts/field.tsx';
import { useForm } from '../parts/form.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toast } from '../parts/toast.tsx';
import { Problem } from '../problem.ts';
import { readText } from '../records/record-form.ts';
import { changeFields } from './projects-api.ts';
import {
  type Field,
  type FieldType,
  fieldTypes,
  hasDefault,
  type Structure,
  trainCase,
} from './structure.ts';

const typeWords: Readonly<Record<FieldType, string>> = {
  TEXT: 'TEXT: any text',
  NUMBER: 'NUMBER: 36 or 1.5',
  BOOLEAN: 'BOOLEAN: true or false',
  ARRAY: 'ARRAY: a JSON array',
  OBJECT: 'OBJECT: a JSON object',
};

interface FieldDialogProps {
  readonly project: string;
  readonly structure: Structure;
  /** Null: a new one. */
  readonly field: Field | null;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

const blank: Field = { name: '', slug: '', type: 'TEXT', required: false, unique: false, hashed: false };

export function FieldDialog({ project, structure, field, onClose, onSaved }: FieldDialogProps): JSX.Element {
  const [draft, setDraft] = useState<Field>(field ?? blank);
  const [defaultText, setDefaultText] = useState(field === null ? '' : textOfDefault(field));
  const change = (part: Partial<Field>): void => setDraft((last) => ({ ...last, ...part }));
  const form = useForm(async () => {
    const made = {
      ...draft,
      slug: field?.slug ?? trainCase(draft.name),
      ...readDefault(draft.type, defaultText),
    };
    const clash = structure.fields.find(({ slug, name }) => slug === made.slug || name === made.name);
    if (field === null && clash !== undefined) {
      throw new Problem(`There is a field ${clash.name} already, with the slug ${clash.slug}.`);
    }
    await changeFields(project, structure, [made]);
    toast(field === null ? `The field ${made.name} is added.` : `The field ${made.name} is changed.`);
    onSaved();
  });
  return (
    <Dialog title={field === null ? 'Add a field' : `Change ${field.name}`} onClose={onClose}>
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <TextField
          label="Name"
          hint={`Records have it as their key. Slug: ${field?.slug ?? (trainCase(draft.name) || '–')}`}
          required
          autoFocus
          autoComplete="off"
          maxLength={200}
          spellcheck={false}
          value={draft.name}
          onInput={(name) => change({ name })}
        />
        <SelectField
          label="Type"
          hint={field === null ? 'It can’t be changed later.' : 'The type of a field can’t be changed.'}
          disabled={field !== null}
          value={draft.type}
          onChange={(type) => change({ type: type as FieldType })}
          options={fieldTypes.map((value) => ({ value, label: typeWords[value] }))}
        />
        <CheckboxField
          label="Required"
          hint="A record without a value is refused. Older records stay as they are."
          checked={draft.required}
          onChange={(required) => change({ required })}
        />
        <CheckboxField
          label="Unique"
          hint="No two records have the same value. Not together with Hashed."
          checked={draft.unique}
          disabled={draft.hashed}
          onChange={(unique) => change({ unique })}
        />
        <CheckboxField
          label="Hashed"
          hint="For passwords: the value is stored as its hash, and never shown. It can’t be changed later."
          checked={draft.hashed}
          disabled={field !== null || draft.unique}
          onChange={(hashed) => change({ hashed })}
        />
        <TextField
          label="Default value"
          hint="Taken when a record brings no value."
          autoComplete="off"
          mono
          value={defaultText}
          onInput={setDefaultText}
        />
        <TextField
          label="Description"
          value={draft.description ?? ''}
          onInput={(description) => change({ description })}
        />
        <div class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={form.busy}>
            {field === null ? 'Add the field' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function textOfDefault(field: Field): string {
  if (!hasDefault(field)) return '';
  const { defaultValue } = field;
  return typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue);
}

/** An empty text is no default. */
function readDefault(type: FieldType, text: string): { defaultValue: unknown } {
  if (text === '') return { defaultValue: null };
  const reading = readText(type, text);
  if ('problem' in reading) throw new Problem(`Default value: ${reading.problem}`);
  return { defaultValue: reading.value };
}
