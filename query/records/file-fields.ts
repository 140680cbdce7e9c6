import type { RecordValues } from './input/validate-record.ts';
import type { StoredRow } from './sql/stored-row.ts';
import type { Field } from './structure/field.ts';
import { slotOf } from './structure/slots.ts';
import type { Structure } from './structure/structure.ts';
import { typeEntry } from './types/field-types.ts';
import { namesIn } from './types/file.ts';

interface FileField {
  readonly field: Field;
  /** In the structure. */
  readonly place: number;
}

const none: readonly FileField[] = [];
const known = new WeakMap<Structure, readonly FileField[]>();

/** The fields whose values are files. */
export function fileFieldsOf(structure: Structure): readonly FileField[] {
  let found = known.get(structure);
  if (found === undefined) {
    const all = structure.fields.map((field, place) => ({ field, place }));
    found = all.filter(({ field }) => typeEntry(field.type).files !== undefined);
    if (found.length === 0) found = none;
    known.set(structure, found);
  }
  return found;
}

export function hasFiles(structure: Structure): boolean {
  return fileFieldsOf(structure) !== none;
}

/** The names of files in the values of a record. */
export function namesInValues(structure: Structure, values: RecordValues): readonly string[] {
  const names: string[] = [];
  for (const { field, place } of fileFieldsOf(structure)) {
    const value = values[place] ?? null;
    if (value !== null) names.push(...namesIn(typeEntry(field.type), value));
  }
  return names;
}

/** The names of files in a stored record. @param structure the stored one */
export function namesInRow(structure: Structure, row: StoredRow): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { field } of fileFieldsOf(structure)) {
    const value = row._doc[slotOf(field)];
    if (value !== undefined) for (const name of namesIn(typeEntry(field.type), value)) names.add(name);
  }
  return names;
}
