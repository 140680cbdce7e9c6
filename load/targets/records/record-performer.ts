import type { Answer } from '../../http/answer.ts';
import type { ConnectionPool } from '../../http/connection-pool.ts';
import type { Mix, RecordRequest } from '../../mix/mix.ts';
import { threadClock } from '../../run/thread-clock.ts';
import { failedOutcome } from '../failed-outcome.ts';
import type { Perform } from '../performer-of.ts';
import type { Outcome } from '../target.ts';
import { findsItsRecord, mayBeDeleted, RecordChoice } from './record-choice.ts';

/** Bytes of answers that are read: the code of an error, the id of a record. */
const readBytes = 512;
const byId: readonly RecordRequest['kind'][] = ['findById', 'update', 'delete'];

/** What a request sends. Heads are ASCII. */
export interface Sent {
  readonly head: string;
  readonly body?: Buffer;
}

/** Records in the words of one server. It gets the beginnings of answers. */
export interface RecordApi {
  /** Prepares a request of a mix: what can be made once is. */
  encoder(choice: RecordChoice): (number: number) => Sent;
  /** @returns null when the server did what it was asked, otherwise its word for why not */
  codeOf(request: RecordRequest, answer: Answer): string | null;
  /** Whether an error says that the record is not there. */
  isMissing(answer: Answer): boolean;
  /** Whether a find has found nothing. */
  foundNothing(answer: Answer): boolean;
  /** The id of a record that was stored. */
  idOf(answer: Answer): string | undefined;
}

/** Prepares a request of a mix about records. */
export function recordPerformer(
  mix: Mix,
  request: RecordRequest,
  api: RecordApi,
  pool: ConnectionPool,
): Perform {
  const { kind, space } = request;
  const choice = new RecordChoice(mix, request);
  const encode = api.encoder(choice);
  const mustFind = findsItsRecord(request, mix);
  // another request may have deleted the record
  const mayMiss = byId.includes(kind) && mayBeDeleted(request, mix);

  /** The outcome of an update that is done, or may be. */
  const withUpdate = (outcome: Outcome, number: number, began: number): Outcome => {
    const ended = outcome.good ? threadClock() : null;
    return {
      ...outcome,
      stored: { kind: 'update', space, index: choice.chosen(number), number, began, ended },
    };
  };

  return async (number, signal) => {
    const began = kind === 'update' ? threadClock() : 0;
    const { head, body } = encode(number);
    const sentBytes = head.length + (body?.byteLength ?? 0);
    let answer: Answer;
    try {
      answer = await pool.send(head, body, { keep: readBytes, signal });
    } catch (error) {
      const failed = failedOutcome(error, sentBytes);
      return kind === 'update' ? withUpdate(failed, number, began) : failed;
    }
    let code = api.codeOf(request, answer);
    if (code === null && mustFind && api.foundNothing(answer)) code = 'not_found_again';
    else if (code !== null && mayMiss && api.isMissing(answer)) code = null;
    const { status, bytes: receivedBytes } = answer;
    const outcome: Outcome = { good: code === null, status, code, sentBytes, receivedBytes };
    // what the server refused is not done
    if (kind === 'update' && (code === null || status >= 500)) return withUpdate(outcome, number, began);
    if (code !== null || (kind !== 'insert' && kind !== 'insertMany')) return outcome;
    const stored = { kind: 'record', space, index: choice.inserted(number) } as const;
    // only the beginning of a list is read
    if (kind === 'insertMany') return { ...outcome, stored: { ...stored, id: null, count: request.records } };
    const id = api.idOf(answer);
    if (id === undefined) return { ...outcome, good: false, code: 'no_id' };
    return { ...outcome, stored: { ...stored, id } };
  };
}

/** Makes requests with a body of JSON. @param fields of each, each with its line end */
export function jsonSender(fields: string): (start: string, value: unknown) => Sent {
  const lines = ` HTTP/1.1\r\n${fields}Content-Type: application/json\r\nContent-Length: `;
  return (start, value) => {
    const body = Buffer.from(JSON.stringify(value));
    return { head: `${start}${lines}${body.byteLength}\r\n\r\n`, body };
  };
}
