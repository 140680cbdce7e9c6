import { invalidCondition } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import type { Hasher } from './hasher.ts';
import type { Candidate } from './record-reader.ts';

/** Checking one takes milliseconds of a core. */
const maxCandidates = 10;

/**
 * The ids of those records whose hashes have the values of the conditions on hashed fields. Throws a 400 when the other
 * conditions leave too many to check. @param candidates finds at most so many of those that they leave
 */
export async function verifyHashed(
  candidates: (limit: number) => Promise<readonly Candidate[]>,
  { conditions: { hashed }, hasher }: { readonly conditions: Conditions; readonly hasher: Hasher },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await candidates(maxCandidates + 1);
  if (found.length > maxCandidates) {
    const names = hashed.map(({ field }) => shownName(field.name)).join(', ');
    throw invalidCondition([
      `Query field: ${names} is hashed, and the other conditions leave more than ${maxCandidates} records to check`,
    ]);
  }
  const ids: string[] = [];
  for (const { row, hashes } of found) {
    if (await allVerify(hashes)) ids.push(row._id);
  }
  return ids;

  async function allVerify(hashes: readonly (string | null)[]): Promise<boolean> {
    for (const [index, { value }] of hashed.entries()) {
      const stored = hashes[index] ?? null;
      if (stored === null || !(await hasher.verifyValue(stored, value, signal))) return false;
    }
    return true;
  }
}
