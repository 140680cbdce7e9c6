import { type Abortable, askRecords } from './ask.ts';
import { callFunction } from './call-function.ts';
import { type Client, SluiceError, valueNow } from './client.ts';
import type { Fields, NewRecord, RecordOf, Space } from './space.ts';

export interface Login<Of extends Fields> {
  readonly token: string;
  readonly user: RecordOf<Of>;
}

/** Logs in the user who has these values. Use the token as the `user` of `connect`. */
export function login<Of extends Fields>(
  client: Client,
  users: Space<Of>,
  values: Partial<NewRecord<Of>> & { readonly id?: string },
  { signal }: Abortable = {},
): Promise<Login<Of>> {
  // every attempt counts for the throttle
  return callFunction(client, users, 'login', { body: values, repeatable: false, signal }) as Promise<
    Login<Of>
  >;
}

/** A new token for the login of the client's `user`, as long as `sessionSeconds` of the space of the users allow. */
export function refresh<Of extends Fields>(
  client: Client,
  users: Space<Of>,
  { signal }: Abortable = {},
): Promise<Login<Of>> {
  return callFunction(client, users, 'refresh-login', { repeatable: true, signal }) as Promise<Login<Of>>;
}

/** Ends the login of the client's `user`, with all its tokens. Also resolves if it had ended. Forget the token afterwards. */
export async function logout(client: Client, users: Space, { signal }: Abortable = {}): Promise<void> {
  try {
    await callFunction(client, users, 'logout', { repeatable: true, signal });
  } catch (failure) {
    if (!(failure instanceof SluiceError && failure.code === 'unauthorized')) throw failure;
  }
}

/** The user who is logged in; null: nobody is. Rejects with `unauthorized` if the login has ended. */
export async function me<Of extends Fields>(
  client: Client,
  users: Space<Of>,
  { signal }: Abortable = {},
): Promise<RecordOf<Of> | null> {
  if (!(await valueNow(client.user))) return null;
  return askRecords(client, users, '/get-token-owner', { method: 'GET', signal });
}
