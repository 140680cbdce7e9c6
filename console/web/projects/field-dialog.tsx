import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { slugOfName } from '#kernel/ids/slug-of-name.ts';
import { CheckboxField, NameField, SelectField, TextField, type TextFieldProps } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { toast } from '../parts/toast.tsx';
import { Problem } from '../problem.ts';
import {
  type FieldType,
  readText,
  typeCan,
  typeEntry,
  typeOptions,
  withDigitsOf,
} from '../records/field-types.ts';
import { type Digits, mostDigits, readDigits } from '../records/read-value.ts';
import { changeStructure } from './projects-api.ts';
import { type Field, hasDefault, type Structure } from './structure.ts';

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
  const digits = useFields({
    precision: String(field?.precision ?? 18),
    scale: String(field?.scale ?? 2),
  });
  const hasDigits = typeEntry(draft.type).hasDigits === true;
  const [defaultText, setDefaultText] = useState(field === null ? '' : textOfDefault(field));
  const send = async (): Promise<void> => {
    const read = hasDigits ? readDigits(digits.values.precision, digits.values.scale) : {};
    if (typeof read === 'string') throw new Problem(read);
    const typed = withDigitsOf(read, draft);
    const changed = {
      ...typed,
      normalize: normalizeOf(draft),
      slug: field?.slug ?? slugOfName(draft.name),
      ...readDefault(typed, defaultText),
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
        options={typeOptions}
      />
      {hasDigits && (
        <DigitsFields
          text={digits.text}
          change={field?.type === draft.type ? conversion(field, draft.type) : ''}
        />
      )}
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
        disabled={!typeCan(draft.type, 'text')}
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

interface DigitsFieldsProps {
  readonly text: (key: keyof Digits) => Pick<TextFieldProps, 'value' | 'onInput'>;
  /** What stored values need for other digits. */
  readonly change: string;
}

function DigitsFields({ text, change }: DigitsFieldsProps): JSX.Element {
  const common = { required: true, inputMode: 'numeric', autoComplete: 'off' } as const;
  return (
    <>
      <TextField
        label="Digits"
        hint={`The most digits of a value, from 1 to ${mostDigits}. Up to 18 are fastest.`}
        {...common}
        {...text('precision')}
      />
      <TextField
        label="Digits behind the point"
        hint={`A value with more of them is refused, and never rounded. ${change}`.trim()}
        {...common}
        {...text('scale')}
      />
    </>
  );
}

function normalizeOf({ type, normalize = [] }: Field): readonly string[] {
  return typeCan(type, 'text') ? normalize : [];
}

/** What the API requires for a change of type; its error names values that can't be converted. */
function conversion({ type, hashed }: Field, to: FieldType): string {
  const rule = hashed ? undefined : typeEntry(type).conversions[to];
  if (rule === undefined) return 'Stored values can’t be converted: the field must be empty in every record.';
  return rule === '' ? 'All values convert.' : `${rule} Otherwise nothing changes.`;
}

function textOfDefault(field: Field): string {
  if (!hasDefault(field)) return '';
  const { defaultValue } = field;
  return typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue);
}

/** An empty text is no default. */
function readDefault(field: Field, text: string): { defaultValue: unknown } {
  if (text === '') return { defaultValue: null };
  const reading = readText(field, text);
  if ('problem' in reading) throw new Problem(`Default value: ${reading.problem}`);
  return { defaultValue: reading.value };
}
