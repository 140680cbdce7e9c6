import { type Abortable, headerJson, readersOf, replacerOf, revived } from './ask.ts';
import { type Client, json, send } from './client.ts';
import type { Fields, NewRecord, RecordOf, Space } from './space.ts';

export interface Login<Of extends Fields> {
  readonly token: string;
  readonly user: RecordOf<Of>;
}

/** Logs in the user who has these values. Use the token in `connect({ ..., user: token })`. */
export async function login<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  values: Partial<NewRecord<Of>> & { readonly id?: string },
  { signal }: Abortable = {},
): Promise<Login<Of>> {
  const resources = headerJson({ mustExistSpaceStructures: [{ slug: space.slug }] });
  const call = {
    method: 'POST',
    path: `/${encodeURIComponent(client.project)}/function/login`,
    body: values,
    replacer: replacerOf(space),
    headers: { 'function-resources': resources },
    // every attempt counts for the throttle
    repeatable: false,
    signal,
  };
  const answer = await send(client, call, json<Login<Of>>);
  revived(readersOf(space), answer.user);
  return answer;
}
