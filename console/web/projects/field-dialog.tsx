import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { slugOfName } from '#kernel/ids/slug-of-name.ts';
import { CheckboxField, NameField, SelectField, TextField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { toast } from '../parts/toast.tsx';
import { Problem } from '../problem.ts';
import { readText } from '../records/record-form.ts';
import { changeStructure } from './projects-api.ts';
import { type Field, type FieldType, hasDefault, type Structure, typeWords } from './structure.ts';

interface FieldDialogProps {
  readonly project: string;
  readonly structure: Structure;
  /** Null: a new field. */
  readonly field: Field | null;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

const blank: Field = { name: '', slug: '', type: 'TEXT', required: false, unique: false, hashed: false };

export function FieldDialog({ project, structure, field, onClose, onSaved }: FieldDialogProps): JSX.Element {
  const { values: draft, change, text, flag } = useFields({ description: '', ...(field ?? blank) });
  const [defaultText, setDefaultText] = useState(field === null ? '' : textOfDefault(field));
  const send = async (): Promise<void> => {
    const changed = {
      ...draft,
      normalize: normalizeOf(draft),
      slug: field?.slug ?? slugOfName(draft.name),
      ...readDefault(draft.type, defaultText),
    };
    const clash = structure.fields.find(({ slug, name }) => slug === changed.slug || name === changed.name);
    if (field === null && clash !== undefined) {
      throw new Problem(`The field ${clash.name} already exists, with the slug ${clash.slug}.`);
    }
    await changeStructure(project, structure, [changed]);
    toast(`Field ${changed.name} ${field === null ? 'added' : 'saved'}.`);
    onSaved();
  };
  return (
    <FormDialog
      title={field === null ? 'Add a field' : `Edit the field ${field.name}`}
      verb={field === null ? 'Add the field' : 'Save'}
      send={send}
      onClose={onClose}
    >
      <NameField
        label="Name"
        hint={`The key in records. Slug: ${field?.slug ?? (slugOfName(draft.name) || '–')}`}
        autoFocus
        spellcheck={false}
        {...text('name')}
      />
      <SelectField
        label="Type"
        hint={field !== null && field.type !== draft.type ? conversion(field, draft.type) : undefined}
        value={draft.type}
        onInput={(type) => change({ type: type as FieldType })}
        options={Object.entries(typeWords)}
      />
      <CheckboxField
        label="Required"
        hint={`A record without a value is refused. ${
          field === null
            ? 'Stored records without a value stay as they are.'
            : 'This can only be switched on if every stored record has a value.'
        }`}
        {...flag('required')}
      />
      <CheckboxField
        label="Unique"
        hint="No two records may have the same value. Can’t be combined with Hashed."
        disabled={draft.hashed}
        {...flag('unique')}
      />
      <CheckboxField
        label="Normalized"
        hint="Ignores letter case and spaces at the ends, as for email addresses. TEXT only."
        disabled={draft.type !== 'TEXT'}
        checked={normalizeOf(draft).length > 0}
        onChange={(checked) => change({ normalize: checked ? ['trim', 'lower', 'nfc'] : [] })}
      />
      <CheckboxField
        label="Hashed"
        hint="For passwords: only a hash of the value is stored, and it is never shown. This setting can’t be changed later."
        disabled={field !== null || draft.unique}
        {...flag('hashed')}
      />
      <TextField
        label="Default value"
        hint="Used when a record has no value."
        autoComplete="off"
        mono
        value={defaultText}
        onInput={setDefaultText}
      />
      <TextField label="Description" {...text('description')} />
    </FormDialog>
  );
}

const conversions: Readonly<Record<string, string>> = {
  'NUMBER TEXT': 'All values convert.',
  'BOOLEAN TEXT': 'All values convert.',
  'TEXT NUMBER': 'Every stored text has to be a number, such as 12 or -0.50.',
  'TEXT BOOLEAN': 'Every stored text has to be true or false.',
};

function normalizeOf({ type, normalize = [] }: Field): readonly string[] {
  return type === 'TEXT' ? normalize : [];
}

/** What the API requires for a change of type; its error names values that can't be converted. */
function conversion({ type, hashed }: Field, to: FieldType): string {
  const rule = hashed ? undefined : conversions[`${type} ${to}`];
  if (rule === undefined) return 'Stored values can’t be converted: the field must be empty in every record.';
  return rule === conversions['NUMBER TEXT'] ? rule : `${rule} Otherwise nothing changes.`;
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
