import { type After, askRecords, type FindOptions, findBody } from './ask.ts';
import type { Client } from './client.ts';
import type { Fields, Selectable, Selected, Space } from './space.ts';

/** `await` reads an array. `for await` reads page by page, however many records there are. */
export interface List<Value> extends PromiseLike<Value[]>, AsyncIterable<Value> {}

const pageSize = 1000;

export function find<Of extends Fields, const Select extends Selectable<Of> = never>(
  client: Client,
  space: Space<Of>,
  options: FindOptions<Of, Select> = {},
): List<Selected<Of, Select>> {
  type Found = Selected<Of, Select>;
  const { signal } = options;
  const read = async (more?: object): Promise<Found[]> =>
    askRecords(client, space, '/_find_', { body: findBody({ ...options, ...more }), signal });
  return {
    // biome-ignore lint/suspicious/noThenProperty: the request is sent only when it is awaited
    then: (done, failed) => read().then(done, failed),
    [Symbol.asyncIterator]: () => pages(options, read as never) as AsyncGenerator<Found>,
  };
}

type Page = (Record<string, unknown> & { readonly id: string })[];

async function* pages(
  { sort = [], limit, page, select }: FindOptions<Fields, string>,
  read: (more: object) => Promise<Page>,
): AsyncGenerator<Page[number]> {
  const by = sort.map((name) => name.replace(/^-/, ''));
  // the next page begins after their values
  const extra = select ? by.filter((name) => name !== 'id' && !select.includes(name)) : [];
  let left = limit ?? Infinity;
  let after: After | undefined;
  do {
    const size = page ? left : Math.min(left, pageSize);
    const found = await read({
      ...{ limit: size, after, page: after ? undefined : page },
      ...(select && { select: [...select, ...extra] }),
    });
    const last = found.at(-1);
    if (!last) return;
    const values = by.map((name) => (name === 'id' ? null : last[name]));
    after = { id: last.id, values: by[0] ? values : undefined };
    for (const record of found) {
      for (const name of extra) delete record[name];
      yield record;
    }
    left = found.length < size ? 0 : left - size;
  } while (left > 0);
}

/** The first record that matches; null: none does. */
export function findOne<Of extends Fields, const Select extends Selectable<Of> = never>(
  client: Client,
  space: Space<Of>,
  options: Omit<FindOptions<Of, Select>, 'limit'> = {},
): Promise<Selected<Of, Select> | null> {
  return askRecords(client, space, '/_single_/_find_', { body: findBody(options), signal: options.signal });
}
