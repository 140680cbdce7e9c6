import { type Field, hasDefault } from '../projects/structure.ts';
import { readText } from './field-types.ts';
import type { ParsedValue } from './read-value.ts';

/** One field of the form: its text, or no value at all, which is not the same as the empty text. */
export interface FormEntry {
  readonly text: string;
  readonly none: boolean;
}

export type Form = ReadonlyMap<string, FormEntry>;
export type StoredRecord = Readonly<Record<string, unknown>>;

const noValue: FormEntry = { text: '', none: true };

/** The form of a new or a stored record. Hashed fields are write-only, so they begin empty. */
export function formOf(fields: readonly Field[], record: StoredRecord | null): Form {
  return new Map(fields.map((field) => [field.name, entryOf(field, record)]));
}

function entryOf(field: Field, record: StoredRecord | null): FormEntry {
  if (field.hashed) return noValue;
  const value = record === null ? field.defaultValue : record[field.name];
  if (value === null || value === undefined) return noValue;
  if (field.type === 'FILE') return { text: nameOf(value), none: false };
  if (field.type === 'FILES' && Array.isArray(value))
    return { text: JSON.stringify(value.map(nameOf), null, 2), none: false };
  const text = typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
  return { text, none: false };
}

/** Of a file as answers have it. */
function nameOf(file: unknown): string {
  return String((file as { readonly name?: unknown }).name);
}

/** The body of the request, and the problems of the form by field. */
export function readForm(fields: readonly Field[], form: Form, before: StoredRecord | null) {
  const initial = formOf(fields, before);
  const entries: [string, unknown][] = [];
  const problems = new Map<string, string>();
  for (const field of fields) {
    const entry = form.get(field.name) ?? noValue;
    const start = initial.get(field.name) ?? noValue;
    // send only this user's changes, so that others' changes stay
    if (before !== null && entry.none === start.none && entry.text === start.text) continue;
    const reading = readEntry(field, entry, before !== null);
    if ('problem' in reading) problems.set(field.name, reading.problem);
    else if (reading.value !== undefined) entries.push([field.name, reading.value]);
  }
  // not by assignment: a field may be called __proto__
  return { body: Object.fromEntries(entries) as StoredRecord, problems };
}

function readEntry(field: Field, { text, none }: FormEntry, changes: boolean): ParsedValue {
  if (none) {
    if (field.required && (changes || !hasDefault(field))) return { problem: 'This field is required.' };
    return { value: changes ? null : undefined };
  }
  return readText(field, text);
}

/**
 * The API's problems by field, and the others.
 * @param problems the texts of an error's list `error`, such as `Body field: 'age' is required`
 */
export function fieldProblems(problems: readonly string[], fields: readonly Field[]) {
  const byField = new Map<string, string>();
  const others: string[] = [];
  for (const problem of problems) {
    const field = fields.find(
      ({ name }) =>
        problem.includes(`ield: ${shown(name)}`) ||
        problem.startsWith(`Field ${shown(name)}`) ||
        problem.startsWith(`A record with this ${shown(name)}`),
    );
    if (field === undefined) others.push(problem);
    else byField.set(field.name, [byField.get(field.name), problem].filter(Boolean).join(' '));
  }
  return { byField, others };
}

/** A name as in the service's messages. */
function shown(name: string): string {
  return name.length > 100 ? `'${name.slice(0, 100)}…'` : `'${name}'`;
}
