import { loginSlot, newLoginState } from '#auth/login-state.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import { fileFieldsOf } from './file-fields.ts';
import type { Changes } from './input/validate-changes.ts';
import type { RecordValues } from './input/validate-record.ts';
import type { FoundFiles, RecordFiles } from './record-files.ts';
import type { Assignment } from './sql/update-sql.ts';
import type { ChangeOutcome } from './store/record-store.ts';
import { isIncrement } from './structure/increment.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { slotOf } from './structure/slots.ts';
import { typeEntry } from './types/field-types.ts';
import { fileSlot, fileText } from './types/file.ts';
import type { Outcome } from './waiting-counts.ts';

const noFiles: FoundFiles = { texts: new Map(), owned: new Set() };

/** The files that the changes name; null: they change no field with files. */
export async function filesOfChanges(
  files: RecordFiles,
  space: RecordSpace,
  { changes, values }: { readonly changes: Changes; readonly values: RecordValues },
  signal: AbortSignal,
): Promise<FoundFiles | null> {
  if (!fileFieldsOf(space.structure).some(({ field }) => changes.has(field))) return null;
  return (await files.find(space, [values], signal)) ?? noFiles;
}

/** Makes a change of records that name, or named, files. */
export async function withFiles<Made extends Outcome | ChangeOutcome>(
  recordFiles: RecordFiles,
  space: RecordSpace,
  {
    ids,
    values,
    files,
  }: {
    readonly ids: readonly string[];
    /** Null: the records are removed. */
    readonly values: RecordValues | null;
    readonly files: FoundFiles | null;
  },
  make: (permit: WritePermit | null) => Promise<Made>,
  signal: AbortSignal,
): Promise<Made> {
  const dropped = await recordFiles.drop(space, ids, signal);
  try {
    if (values === null || files === null || files.texts.size === 0) return await make(null);
    const named = ids.map((id) => ({ id, values }));
    const uses = await recordFiles.begin(space, named, files, signal);
    let isMissing = false;
    try {
      const outcome = await make(uses.permit);
      isMissing = 'row' in outcome && outcome.row === null;
      return outcome;
    } finally {
      await uses.end(isMissing ? 'never' : 'maybe');
    }
  } finally {
    dropped();
  }
}

/** In the order of their slots, so that requests that name the same slots share statements. */
export function assignmentsOf(
  { structure }: RecordSpace,
  changes: Changes,
  values: RecordValues,
  files: FoundFiles['texts'] = noFiles.texts,
): readonly Assignment[] {
  const assignments: Assignment[] = [];
  let isHashed = false;
  for (const [field, wanted] of changes) {
    const slot = slotOf(field);
    isHashed ||= field.hashed;
    const value = isIncrement(wanted) ? wanted : (values[structure.fields.indexOf(field)] ?? null);
    assignments.push({ slot, value });
    const entry = typeEntry(field.type);
    if (entry.files === undefined || isIncrement(value)) continue;
    const text = value === null ? null : fileText(entry, value, files);
    assignments.push({ slot: fileSlot(slot), value: text });
  }
  // who knew the old password may have logged in with it
  if (isHashed) assignments.push({ slot: loginSlot, value: newLoginState() });
  return assignments.sort((a, b) => (a.slot < b.slot ? -1 : 1));
}
