import type { Abortable } from './ask.ts';
import { callFunction } from './call-function.ts';
import type { Client } from './client.ts';
import type { Login } from './login.ts';
import type { Fields, NewRecord, Space } from './space.ts';

/** What a mail brought: the token of its link, or its code with the address. */
export type MailProof = { readonly token: string } | { readonly email: string; readonly code: string };

/** Each attempt counts, and may send a mail. */
const repeatable = false;

/**
 * Signs a user up. Null: a mail is sent, and the user has to verify the address before `login`. Otherwise the user is
 * logged in.
 */
export async function signUp<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  values: NewRecord<Of>,
  { signal }: Abortable = {},
): Promise<Login<Of> | null> {
  const { token, user } = await callFunction(client, space, 'sign-up', { body: values, repeatable, signal });
  return token && user ? { token, user } : null;
}

/** With what a mail brought, verifies the address; with an address alone, sends the mail again if it is needed. */
export async function verifyEmail<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  by: MailProof | { readonly email: string },
  { signal }: Abortable = {},
): Promise<void> {
  await callFunction(client, space, 'verify-email', { body: by, repeatable, signal });
}

/** With an address alone, sends a mail if it has a user; with what the mail brought, sets a new password. */
export async function resetPassword<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  by: (MailProof & { readonly password: string }) | { readonly email: string },
  { signal }: Abortable = {},
): Promise<void> {
  await callFunction(client, space, 'reset-password', { body: by, repeatable, signal });
}
