import { ConnectionPool } from '../../http/connection-pool.ts';
import { within } from '../../http/within.ts';
import type { MixRequest, MixSpace } from '../../mix/mix.ts';
import { recordOf } from '../../seed/records.ts';
import { type RecordIds, RecordIdsWriter } from '../records/record-ids.ts';
import type { Preparation } from '../target.ts';
import { type SluiceAddress, sluiceAddress, spaceDescription, structureOf } from './sluice-address.ts';

/** Records of one insert. */
const recordsOfInsert = 5000;
/** Inserts that are under way at once. */
const insertsAtOnce = 2;
const answerLimit = 64 * 1024 * 1024;
/** Milliseconds between two lines of progress. */
const progressInterval = 2000;
/** Milliseconds that one request of the preparation may take. */
const requestTimeout = 120_000;
const byId: readonly MixRequest['kind'][] = ['findById', 'update', 'delete'];

/** What workers need of the prepared spaces, by their names. */
export type PreparedSpaces = Readonly<Record<string, RecordIds>>;

/** Makes the spaces of a mix anew, and stores their records. */
export async function prepareSpaces(work: Preparation): Promise<PreparedSpaces> {
  const pool = new ConnectionPool(work.address.url);
  try {
    const calls = new SluiceCalls(pool, sluiceAddress(work.address), work.signal);
    const prepared: Record<string, RecordIds> = {};
    for (const space of work.mix.spaces) {
      await calls.drop(space);
      prepared[space.name] = await fill(calls, space, work);
    }
    return prepared;
  } finally {
    pool.close();
  }
}

/** Removes the spaces of a mix, if this tool made them. */
export async function removeSpaces(work: Preparation): Promise<void> {
  const pool = new ConnectionPool(work.address.url);
  try {
    const calls = new SluiceCalls(pool, sluiceAddress(work.address), work.signal);
    for (const space of work.mix.spaces) await calls.drop(space);
  } finally {
    pool.close();
  }
}

async function fill(calls: SluiceCalls, space: MixSpace, work: Preparation): Promise<RecordIds> {
  const { mix, progress } = work;
  const ids = new RecordIdsWriter(space.records);
  const needsIds = mix.requests.some(
    (request) => 'space' in request && request.space === space.name && byId.includes(request.kind),
  );
  let next = 0;
  let stored = 0;
  let said = performance.now();
  const insert = async (): Promise<void> => {
    while (next < space.records) {
      const first = next;
      const count = Math.min(recordsOfInsert, space.records - first);
      next += count;
      const records = Array.from({ length: count }, (_, at) => recordOf(mix.seed, space, first + at));
      const answer = await calls.insert(space, JSON.stringify(records));
      if (needsIds) for (const [at, { id }] of answer.entries()) ids.set(first + at, id);
      stored += count;
      if (performance.now() - said < progressInterval) continue;
      said = performance.now();
      progress(`${space.name}: ${stored} of ${space.records} records are stored`);
    }
  };
  await Promise.all(Array.from({ length: insertsAtOnce }, insert));
  progress(`${space.name}: ${space.records} records are stored`);
  return ids.ids;
}

/** The requests of the preparation. Each rejects with a sentence that has the server's own. */
class SluiceCalls {
  readonly #pool: ConnectionPool;
  readonly #address: SluiceAddress;
  readonly #signal: AbortSignal;

  constructor(pool: ConnectionPool, address: SluiceAddress, signal: AbortSignal) {
    this.#pool = pool;
    this.#address = address;
    this.#signal = signal;
  }

  async insert(space: MixSpace, body: string): Promise<readonly { readonly id: string }[]> {
    const { project } = this.#address;
    const structure = `structure: ${structureOf(project, space)}\r\ncontent-type: application/json\r\n`;
    const answer = await this.#send('POST', `/${project}/${encodeURIComponent(space.name)}`, structure, body);
    if (answer.status !== 200) throw refused(`records of ${space.name} can't be stored`, answer);
    return JSON.parse(answer.body.toString());
  }

  /** Removes a space with its records, if this tool made it. */
  async drop({ name }: MixSpace): Promise<void> {
    const { project } = this.#address;
    const path = `/_projects_/${project}/spaces/${encodeURIComponent(name)}`;
    const found = await this.#send('GET', path);
    if (found.status === 404) return;
    if (found.status !== 200) throw refused(`the space ${name} can't be read`, found);
    const { structure } = JSON.parse(found.body.toString());
    if (structure.description !== spaceDescription)
      throw new Error(
        `the project ${project} has a space ${name} that this tool didn't make: choose another project with --option project=NAME`,
      );
    const dropped = await this.#send('DELETE', path);
    if (dropped.status !== 204 && dropped.status !== 404)
      throw refused(`the space ${name} can't be removed`, dropped);
  }

  #send(method: string, path: string, lines = '', text?: string) {
    const { base, lines: every } = this.#address;
    const body = text === undefined ? undefined : Buffer.from(text);
    const length = body === undefined ? '' : `content-length: ${body.byteLength}\r\n`;
    const head = `${method} ${base}${path} HTTP/1.1\r\n${every}${lines}${length}\r\n`;
    return within(this.#signal, requestTimeout, (signal) =>
      this.#pool.send(head, body, { keep: answerLimit, signal }),
    );
  }
}

function refused(what: string, { status, body }: { readonly status: number; readonly body: Buffer }): Error {
  let message = body.toString('utf8', 0, 300);
  try {
    message = JSON.parse(body.toString()).message;
  } catch {
    // the beginning of the body says it
  }
  return new Error(`${what}: ${status} ${message}`);
}
