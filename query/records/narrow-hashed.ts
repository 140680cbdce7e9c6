import type { Database } from '../../common/clickhouse/database.ts';
import { quoteIdentifier, textLiteral } from '../../common/clickhouse/literal.ts';
import { invalidCondition } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import { conditionsSql } from '../sql/condition-sql.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Hasher } from './hasher.ts';

/** Checking one takes milliseconds of a core. */
const maxCandidates = 10;

/**
 * The WHERE expression of conditions. Conditions on hashed fields are checked here, against the records that the
 * other conditions leave, and become a condition on ids. Throws a 400 when these are too many.
 * Answers `nothing` when no record can match.
 */
export async function whereSql(
  { db, hasher }: { db: Database; hasher: Hasher },
  space: RecordSpace,
  conditions: Conditions,
  signal: AbortSignal,
): Promise<{ readonly where: string | null } | 'nothing'> {
  const where = conditionsSql(conditions);
  const { hashed } = conditions;
  if (hashed.length === 0) return { where };
  const columns = hashed.map(({ field }) => quoteIdentifier(field.slug));
  const candidates = await db.rows<{ _id: string; _hashes: (string | null)[] }>(
    `SELECT _id, [${columns.join(', ')}] AS _hashes FROM ${space.table}
     WHERE ${where} ORDER BY _id LIMIT ${maxCandidates + 1}`,
    signal,
    space.table,
  );
  if (candidates.length > maxCandidates) {
    const names = hashed.map(({ field }) => shownName(field.name)).join(', ');
    throw invalidCondition([
      `Query field: ${names} is hashed, and the other conditions leave more than ${maxCandidates} records to check`,
    ]);
  }
  const ids: string[] = [];
  for (const { _id, _hashes } of candidates) {
    if (await allVerify(_hashes)) ids.push(_id);
  }
  // the other conditions stay: a record may have changed in between
  return ids.length === 0 ? 'nothing' : { where: `${where} AND _id IN (${ids.map(textLiteral).join(', ')})` };

  async function allVerify(hashes: readonly (string | null)[]): Promise<boolean> {
    for (const [index, { value }] of hashed.entries()) {
      const stored = hashes[index] ?? null;
      if (stored === null || !(await hasher.verifyValue(stored, value, signal))) return false;
    }
    return true;
  }
}
