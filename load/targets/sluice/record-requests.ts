import type { Answer } from '../../http/connection.ts';
import type { ConnectionPool } from '../../http/connection-pool.ts';
import type { Mix, RecordRequest } from '../../mix/mix.ts';
import { failedOutcome } from '../failed-outcome.ts';
import type { Outcome } from '../target.ts';
import type { PreparedSpaces } from './prepare-spaces.ts';
import { changedField, recordEncoder } from './record-encoder.ts';
import type { SluiceAddress } from './sluice-address.ts';

export type Perform = (number: number, signal: AbortSignal) => Promise<Outcome>;

/** Bytes of answers that are read: the code of an error, the id of a record. */
const readBytes = 512;

interface RecordWork {
  readonly mix: Mix;
  readonly address: SluiceAddress;
  readonly prepared: PreparedSpaces;
  readonly pool: ConnectionPool;
}

/** Prepares a request of a mix about records: what can be made once is. */
export function recordRequest(request: RecordRequest, work: RecordWork): Perform {
  const encode = recordEncoder(request, work);
  const { pool } = work;
  const mustFind = keepsRecords(request, work.mix);
  return async (number, signal) => {
    const { head, body, index, count } = encode(number);
    // heads and bodies are ASCII
    const sentBytes = head.length + (body?.byteLength ?? 0);
    let answer: Answer;
    try {
      answer = await pool.send(head, body, { keep: readBytes, signal });
    } catch (error) {
      return failedOutcome(error, sentBytes);
    }
    const { status, bytes: receivedBytes } = answer;
    const code = codeOf(request, answer, mustFind);
    const outcome: Outcome = { good: code === null, status, code, sentBytes, receivedBytes };
    if (index === undefined || code !== null) return outcome;
    const { space } = request;
    // only the beginning of a list is read
    if (count !== undefined) return { ...outcome, stored: { kind: 'record', space, index, id: null, count } };
    const id = /^\{"id":"([^"]+)"/.exec(answer.body.toString('latin1', 0, 64))?.[1];
    if (id === undefined) return { ...outcome, good: false, code: 'no_id' };
    return { ...outcome, stored: { kind: 'record', space, index, id } };
  };
}

/** @returns null when the answer is what the request asked for */
function codeOf({ kind }: RecordRequest, { status, body }: Answer, mustFind: boolean): string | null {
  if (status !== 200) {
    const code = /"code":"([a-z_]+)"/.exec(body.toString('latin1'))?.[1] ?? `${status}`;
    // another request deleted the record
    return kind === 'delete' && code === 'no_match' ? null : code;
  }
  // `null` or `[]`
  return mustFind && body.byteLength < 5 ? 'not_found_again' : null;
}

/** Whether a request finds the record that it was made from: other requests neither delete it nor change what it is found by. */
function keepsRecords({ kind, space, by, pages }: RecordRequest, { spaces, requests }: Mix): boolean {
  if ((kind !== 'find' && kind !== 'findOne' && kind !== 'findById') || pages > 1) return false;
  const others = requests.filter((one) => 'space' in one && one.space === space).map((one) => one.kind);
  if (others.includes('delete')) return false;
  const changed = spaces.find(({ name }) => name === space);
  return !(others.includes('update') && changed && by.includes(changedField(requests, changed)));
}
