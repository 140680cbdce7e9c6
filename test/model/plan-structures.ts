import type { ModelField, ModelType } from './model-field.ts';
import type { EditPlan, FieldPlan, SpacePlan } from './sequence-plan.ts';
import { at, pooledValue } from './value-pools.ts';

/** A field as a client's structure has it. */
export interface SentField extends Omit<ModelField, 'defaultValue'> {
  /** JSON text; null: none. */
  readonly defaultText: string | null;
}

/** A version of a client's structure of a space. */
export interface SentStructure {
  readonly fields: readonly SentField[];
  /** The header for a project. */
  readonly text: (project: string, space: string) => string;
}

const slots: readonly (readonly [name: string, slug: string])[] = [
  ['title', 'title'],
  ['fullName', 'full-name'],
  ['email', 'email'],
  ['password', 'secret'],
  ['__proto__', 'proto'],
  ["it's `odd` \\", 'table'],
  ['constructor', 'constructor'],
  ['Id', 'ID'],
  ['naïve 😀', '-'],
  ['10', 'x_1'],
];

/** The structures of a space: the first, then its other versions. */
export function sentStructures(
  { fields, versions }: SpacePlan,
  initialData: (fields: readonly SentField[]) => string,
) {
  const first = fields.map(sentField);
  const initial = initialData(first);
  return [
    structure(first, 'Things', initial),
    ...versions.map((edits) => {
      const title = edits.some(({ edit }) => edit === 'title') ? 'Other things' : 'Things';
      const wrong = edits.find(({ edit }) => edit === 'wrong');
      return structure(edits.reduce(edited, first), title, initial, wrong?.field);
    }),
  ];
}

function sentField({ slot, type, required, unique, hashed, defaultPick }: FieldPlan): SentField {
  const [name, slug] = at(slots, slot);
  const isHashed = hashed || name === 'password';
  return {
    name,
    slug,
    type,
    required,
    unique: unique && !isHashed,
    hashed: isHashed,
    description: '',
    comment: '',
    defaultText: defaultPick === null ? null : pooledValue(type, defaultPick),
  };
}

function edited(fields: readonly SentField[], { edit, field: index, added }: EditPlan): readonly SentField[] {
  const field = at(fields, index);
  const become = (change: Partial<SentField>): readonly SentField[] =>
    fields.map((each) => (each === field ? { ...each, ...change } : each));
  const more = sentField(added);
  switch (edit) {
    case 'drop':
      return fields.length > 1 ? fields.filter((each) => each !== field) : fields;
    case 'add':
      return fields.some(({ slug }) => slug === more.slug) ? fields : [...fields, more];
    case 'required':
      return become({ required: !field.required });
    case 'unique':
      return become({ unique: !field.unique && !field.hashed });
    case 'default':
      return become({
        defaultText: added.defaultPick === null ? null : pooledValue(field.type, added.defaultPick),
      });
    case 'rename':
      return become({ name: `${field.name} ${added.slot}`, comment: 'renamed' });
    case 'order':
      return fields.toReversed();
    case 'type': {
      const type: ModelType = field.type === 'TEXT' ? 'NUMBER' : 'TEXT';
      return become({ type, defaultText: null });
    }
    case 'hashed':
      return become({ hashed: !field.hashed, unique: false });
    default:
      return fields;
  }
}

function structure(
  fields: readonly SentField[],
  name: string,
  initial: string,
  wrong?: number,
): SentStructure {
  const recordStructure = fields.map(({ defaultText, ...field }) => {
    const text = JSON.stringify(field);
    return defaultText === null ? text : `${text.slice(0, -1)},"defaultValue":${defaultText}}`;
  });
  if (wrong !== undefined) recordStructure.push(at(wrongFields, wrong));
  const key = wrong === undefined ? 'recordStructure' : 'recordFieldStructures';
  return {
    fields,
    text: (project, space) =>
      `{"name":${JSON.stringify(name)},"description":"","projectSlug":"${project}","slug":"${space}",` +
      `"${key}":[${recordStructure.join()}]${initial === '' ? '' : `,"initialData":[${initial}]`}}`,
  };
}

const wrongFields = [
  '{"name":"x","slug":"x","type":"UUID"}',
  '{"name":"x","type":"TEXT"}',
  '{"name":"id","slug":"x","type":"TEXT"}',
  '{"name":"x","slug":"x","type":"TEXT","hashed":true,"unique":true}',
  '{"name":"x","slug":"x","type":"NUMBER","defaultValue":"1"}',
  '{"name":"x","slug":"x y","type":"TEXT"}',
];
