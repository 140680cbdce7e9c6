import { type Abortable, headerJson } from './ask.ts';
import { type Client, json, send } from './client.ts';
import type { Fields, NewRecord, RecordOf, Space } from './space.ts';

export interface Login<Of extends Fields> {
  readonly token: string;
  readonly user: RecordOf<Of>;
}

/** Logs in the user who has these values. Use the token in `connect({ ..., user: token })`. */
export async function login<Of extends Fields>(
  client: Client,
  { slug }: Space<Of>,
  values: Partial<NewRecord<Of>> & { readonly id?: string },
  { signal }: Abortable = {},
): Promise<Login<Of>> {
  const resources = headerJson({ mustExistSpaceStructures: [{ slug }] });
  const call = {
    method: 'POST',
    path: `/${encodeURIComponent(client.project)}/function/login`,
    body: values,
    headers: { 'function-resources': resources },
    // every attempt counts for the throttle
    repeatable: false,
    signal,
  };
  return send(client, call, json<Login<Of>>);
}
