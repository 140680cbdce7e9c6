import type { FindOptions } from './ask.ts';
import type { Client } from './client.ts';
import { find, type List } from './find.ts';
import type { Fields, NamesOf, Selectable, Selected, ShownName, Space } from './space.ts';

/** Finds the records in which any of the fields contains the text; case is ignored. */
export function search<Of extends Fields, const Select extends Selectable<Of> = never>(
  client: Client,
  space: Space<Of>,
  text: string,
  options: FindOptions<Of, Select> & { readonly in: readonly (NamesOf<Of, 'TEXT'> & ShownName<Of>)[] },
): List<Selected<Of, Select>> {
  const { where, in: fields } = options;
  const $or = fields.map((name) => ({ [name]: { icontains: text } }));
  const both = { ...where, $and: [...(where?.$and ?? []), { $or }] };
  return find(client, space, { ...options, where: both as typeof where & object });
}
