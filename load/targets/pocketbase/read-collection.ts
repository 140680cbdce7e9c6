import type { MixSpace } from '../../mix/mix.ts';
import type { FieldValue } from '../../seed/records.ts';
import type { ReadRecord, RecordReader } from '../../verify/verify-records.ts';
import type { JsonCalls } from '../records/json-calls.ts';
import { collectionOf, largestPage, literalOf } from './pocketbase-records.ts';

/** Reads records of a collection for verification. */
export function collectionReader(calls: JsonCalls, base: string, space: MixSpace): RecordReader {
  const types = new Map(space.fields.map(({ name, type }) => [name, type]));
  const dates = space.fields.filter(({ type }) => type === 'DATETIME').map(({ name }) => name);
  const path = `${base}/api/collections/${collectionOf(space.name)}/records?skipTotal=1&perPage=${largestPage}`;
  return {
    async find(field, values) {
      const any = values
        .map((value: FieldValue) => `${field}=${literalOf(types.get(field), value)}`)
        .join('||');
      const { items } = await calls.must<{ items: ReadRecord[] }>(
        'records are read',
        'GET',
        `${path}&filter=${encodeURIComponent(any)}`,
      );
      // as they were sent
      return items.map((item) => ({
        ...item,
        ...Object.fromEntries(dates.map((name) => [name, `${item[name]}`.replace(' ', 'T')])),
      }));
    },
  };
}
