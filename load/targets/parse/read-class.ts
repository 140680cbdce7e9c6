import type { MixSpace } from '../../mix/mix.ts';
import type { RecordReader } from '../../verify/verify-records.ts';
import type { JsonCalls } from '../records/json-calls.ts';
import { classOf, largestPage, parseValue } from './parse-records.ts';

type ParseObject = Readonly<Record<string, unknown>> & { readonly objectId: string };

/** Reads records of a class for verification. */
export function classReader(calls: JsonCalls, base: string, space: MixSpace): RecordReader {
  const types = new Map(space.fields.map(({ name, type }) => [name, type]));
  const dates = space.fields.filter(({ type }) => type === 'DATETIME').map(({ name }) => name);
  const path = `${base}/classes/${classOf(space.name)}`;
  return {
    async find(field, values) {
      const name = field === 'id' ? 'objectId' : field;
      const where = { [name]: { $in: values.map((value) => parseValue(types.get(field), value)) } };
      // as its SDKs do: an address of a hundred values may be too long
      const { results } = await calls.must<{ results: ParseObject[] }>('records are read', 'POST', path, {
        _method: 'GET',
        limit: largestPage,
        where,
      });
      // as they were sent
      return results.map((result) => ({
        ...result,
        id: result.objectId,
        ...Object.fromEntries(
          dates.map((date) => [date, (result[date] as { iso?: string } | undefined)?.iso]),
        ),
      }));
    },
  };
}
