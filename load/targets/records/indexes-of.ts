import type { Mix, MixSpace } from '../../mix/mix.ts';

/** The indexes that users of another server would make for the finds of a mix: lists of fields, without unique ones. */
export function indexesOf({ requests }: Mix, { name, fields }: MixSpace): readonly (readonly string[])[] {
  const unique = new Set(fields.filter((field) => field.unique).map((field) => field.name));
  const indexes = new Map<string, readonly string[]>();
  for (const request of requests) {
    if (request.kind !== 'find' && request.kind !== 'findOne' && request.kind !== 'list') continue;
    if (request.space !== name || request.by.some((field) => unique.has(field))) continue;
    const sort = request.sort === null ? [] : [request.sort];
    const columns = [...request.by, ...sort.filter((field) => !request.by.includes(field))];
    if (columns.length > 0) indexes.set(columns.join(), columns);
  }
  return [...indexes.values()];
}
