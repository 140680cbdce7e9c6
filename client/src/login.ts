import { type Abortable, headerJson } from './ask.ts';
import { type Client, json, send } from './client.ts';
import type { Fields, NewRecord, RecordOf, Space } from './space.ts';

/** Finds the user who has these values; `connect({ ..., user: token })` then asks for him. */
export async function login<Of extends Fields>(
  client: Client,
  { slug }: Space<Of>,
  values: Partial<NewRecord<Of>> & { readonly id?: string },
  { signal }: Abortable = {},
): Promise<{ readonly token: string; readonly user: RecordOf<Of> }> {
  const resources = headerJson({ mustExistSpaceStructures: [{ slug }] });
  return json(
    await send(client, {
      ...{ method: 'POST', path: `/${encodeURIComponent(client.project)}/function/login`, body: values },
      // an attempt counts
      ...{ headers: { 'function-resources': resources }, repeatable: false, signal },
    }),
  );
}
