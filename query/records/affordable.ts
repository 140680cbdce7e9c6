import { exceededLimit } from '../../common/clickhouse/exceeded-limit.ts';
import { queryTooExpensive } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { RecordSpace } from '../structure/record-space.ts';

/** A read by a statement with limits of its own. Throws a 422 when it would cost more than they let it. */
export async function affordable<Result>(
  { structure }: RecordSpace,
  read: () => Promise<Result>,
): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    const limit = exceededLimit(error);
    if (limit === null) throw error;
    const keyed = structure.fields.filter((field) => field.keyed).map(({ name }) => shownName(name));
    throw queryTooExpensive(limit, ["'id'", ...keyed], error);
  }
}
