import { headerJson, readersOf, replacerOf, revived } from './ask.ts';
import { type Call, type Client, json, send } from './client.ts';
import type { Login } from './login.ts';
import type { Fields, Space } from './space.ts';

/** Calls a function of a space of users. A user in its answer has the values of the space. */
export async function callFunction<Of extends Fields>(
  client: Client,
  users: Space<Of>,
  name: string,
  call: Pick<Call, 'body' | 'repeatable' | 'signal'>,
): Promise<Partial<Login<Of>>> {
  const answer = await send(
    client,
    {
      ...call,
      method: 'POST',
      path: `/${encodeURIComponent(client.project)}/function/${name}`,
      replacer: replacerOf(users),
      headers: { 'function-resources': headerJson({ mustExistSpaceStructures: [{ slug: users.slug }] }) },
    },
    json<Partial<Login<Of>>>,
  );
  revived(readersOf(users), answer.user);
  return answer;
}
