import { type Abortable, headerJson, readersOf, replacerOf, revived } from './ask.ts';
import { type Client, json, send } from './client.ts';
import type { Login } from './login.ts';
import type { Fields, NewRecord, Space } from './space.ts';

/** What a mail brought: the token of its link, or its code with the address. */
export type MailProof = { readonly token: string } | { readonly email: string; readonly code: string };

function ask<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  name: string,
  body: object,
  { signal }: Abortable,
): Promise<Partial<Login<Of>>> {
  const call = {
    method: 'POST',
    path: `/${encodeURIComponent(client.project)}/function/${name}`,
    body,
    replacer: replacerOf(space),
    headers: { 'function-resources': headerJson({ mustExistSpaceStructures: [{ slug: space.slug }] }) },
    // each attempt counts, and may send a mail
    repeatable: false,
    signal,
  };
  return send(client, call, json<Partial<Login<Of>>>);
}

/**
 * Signs a user up. Null: a mail is sent, and the user has to verify the address before `login`. Otherwise the user is
 * logged in.
 */
export async function signUp<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  values: NewRecord<Of>,
  options: Abortable = {},
): Promise<Login<Of> | null> {
  const { token, user } = await ask(client, space, 'sign-up', values, options);
  if (!token || !user) return null;
  revived(readersOf(space), user);
  return { token, user };
}

/** With what a mail brought, verifies the address; with an address alone, sends the mail again if it is needed. */
export async function verifyEmail<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  by: MailProof | { readonly email: string },
  options: Abortable = {},
): Promise<void> {
  await ask(client, space, 'verify-email', by, options);
}

/** With an address alone, sends a mail if it has a user; with what the mail brought, sets a new password. */
export async function resetPassword<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  by: (MailProof & { readonly password: string }) | { readonly email: string },
  options: Abortable = {},
): Promise<void> {
  await ask(client, space, 'reset-password', by, options);
}
