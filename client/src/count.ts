import { type Abortable, ask, checked } from './ask.ts';
import type { Client } from './client.ts';
import type { Fields, Space, Where } from './space.ts';

/** How many records match. */
export async function count<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  { where, signal }: Abortable & { readonly where?: Where<Of> } = {},
): Promise<number> {
  const body = { where: checked(where), values: { n: 'count' } };
  const [group] = await ask<[{ n: number }]>(client, space, '/_aggregate_', { body, signal });
  return group.n;
}
