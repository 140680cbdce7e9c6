import type { Test } from 'tap';
import { type LiveAsk, LiveClient, type LiveRecord } from './live-client.ts';
import { call, type FieldInput, structureOf } from './record-client.ts';
import type { Sluice } from './start-sluice.ts';

export const liveProject = 'live';

/** One space of a server, with streams that end with the test. @param server as it is at the moment */
export function liveSpace(
  t: Pick<Test, 'teardown'>,
  server: () => Pick<Sluice, 'baseUrl' | 'token'>,
  slug: string,
  fields: readonly FieldInput[],
) {
  const path = `/${liveProject}/${slug}`;
  const structure = structureOf(liveProject, slug, fields);
  const send = async (suffix: string, body?: unknown, more: Partial<Parameters<typeof call>[0]> = {}) => {
    const given = body === undefined ? {} : { body };
    const answer = await call({ ...server(), path: path + suffix, structure, ...given, ...more });
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const client = (query = '', more: Partial<LiveAsk> = {}): LiveClient => {
    const headers = { authorization: `Bearer ${server().token}`, structure, ...more.headers };
    const made = new LiveClient({ path: `${path}${query}`, ...more, headers });
    t.teardown(() => made.cut());
    return made;
  };
  return {
    path,
    structure,
    send,
    client,
    find: (query = ''): Promise<LiveRecord[]> => send(query),
    insert: (records: readonly object[]): Promise<LiveRecord[]> => send('', records),
    update: (id: string, values: object): Promise<LiveRecord> => send(`/update-by-id?id=${id}`, values),
    remove: (id: string): Promise<LiveRecord> => send(`?id=${id}`, undefined, { method: 'DELETE' }),
    clear: () => send('/clear-records', undefined, { method: 'DELETE' }),
    /** A stream that is ready, or was refused. */
    async watch(query = '', more: Partial<LiveAsk> = {}): Promise<LiveClient> {
      const made = client(query, more);
      if ((await made.open(server().baseUrl)) === 200) await made.ready();
      return made;
    },
  };
}

/** Waits until a client has what a find answers, and asserts that it comes to it. */
export async function equalsFind(
  t: Test,
  client: LiveClient,
  found: readonly LiveRecord[],
  message = 'it has what find answers',
): Promise<void> {
  const wanted = sorted(found);
  const text = JSON.stringify(wanted);
  const has = () => sorted([...client.records.values()]);
  await client.until(() => client.isReady && JSON.stringify(has()) === text).catch(() => {});
  t.strictSame(has(), wanted, message);
}

function sorted(records: readonly LiveRecord[]): readonly LiveRecord[] {
  return records.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}
