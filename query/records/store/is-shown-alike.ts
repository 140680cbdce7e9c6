import { valueAt } from '../input/filters/filter-test.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { RecordParts } from '../structure/record-parts.ts';
import { textIn } from './row-test.ts';

/** Whether a find answers the same for two states of a record. */
export function isShownAlike(one: StoredRow, other: StoredRow, { parts }: RecordParts): boolean {
  // the last part of a whole record is updatedAt, which differs after nearly every write
  for (let at = parts.length - 1; at >= 0; at--) {
    const { target, path } = parts[at] as RecordParts['parts'][number];
    const [was, is] = [textIn(one, target), textIn(other, target)];
    if (was === is) continue;
    if (path.length === 0 || within(was, path) !== within(is, path)) return false;
  }
  return true;
}

function within(text: string | undefined, path: readonly string[]): string | null {
  return text === undefined ? null : (valueAt(text, path) ?? null);
}
