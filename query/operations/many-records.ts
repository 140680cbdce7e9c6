import { invalidCondition } from '../../common/errors/catalogue.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { RecordSpace } from '../structure/record-space.ts';

/** The most that one request may change or delete: records, and bytes of their values. They are in memory, and one write. */
export const manyLimits = { records: 10_000, bytes: 16 * 1024 * 1024 } as const;

/** Ids of the records that match. Rejects with a 400 where they are too many. @param added bytes that each may get */
export async function idsOfMany(
  reader: RecordReader,
  { space, conditions, added }: { space: RecordSpace; conditions: Conditions; added: number },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { records, bytes } = manyLimits;
  const found = await reader.matching(space, { conditions, limit: records + 1 }, signal);
  const size = found.reduce((sum, { _bytes }) => sum + _bytes + added, 0);
  const tooMany = found.length > records ? `more than ${records} records` : `records of ${size} bytes`;
  if (found.length > records || size > bytes)
    throw invalidCondition([
      `The conditions match ${tooMany}; at most ${records} of ${bytes} bytes in all can be changed at once`,
    ]);
  return found.map(({ _id }) => _id);
}
