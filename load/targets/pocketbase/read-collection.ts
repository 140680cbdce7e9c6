import type { MixSpace } from '../../mix/mix.ts';
import type { ReadRecord, RecordReader } from '../../verify/verify-records.ts';
import type { JsonCalls } from '../records/json-calls.ts';
import { collectionOf, largestPage, literalOf } from './pocketbase-records.ts';

/** PocketBase refuses a filter of more bytes. */
const longestFilter = 3500;

/** Reads records of a collection for verification. */
export function collectionReader(calls: JsonCalls, base: string, space: MixSpace): RecordReader {
  const types = new Map(space.fields.map(({ name, type }) => [name, type]));
  const dates = space.fields.filter(({ type }) => type === 'DATETIME').map(({ name }) => name);
  const path = `${base}/api/collections/${collectionOf(space.name)}/records?skipTotal=1&perPage=${largestPage}`;
  return {
    async find(field, values) {
      const found: ReadRecord[] = [];
      const conditions = values.map((value) => `${field}=${literalOf(types.get(field), value)}`);
      for (const filter of filtersOf(conditions)) {
        const { items } = await calls.must<{ items: ReadRecord[] }>(
          'records are read',
          'GET',
          `${path}&filter=${encodeURIComponent(filter)}`,
        );
        for (const item of items) {
          // as they were sent
          const sent = dates.map((name) => [name, `${item[name]}`.replace(' ', 'T')]);
          found.push({ ...item, ...Object.fromEntries(sent) });
        }
      }
      return found;
    },
  };
}

/** Filters for all records that meet one of the conditions. */
function filtersOf(conditions: readonly string[]): string[] {
  const filters: string[] = [];
  for (const condition of conditions) {
    const joined = `${filters.at(-1)}||${condition}`;
    if (filters.length > 0 && joined.length <= longestFilter) filters[filters.length - 1] = joined;
    else filters.push(condition);
  }
  return filters;
}
