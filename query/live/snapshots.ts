import { tooManyRecords } from '#kernel/errors/catalogue.ts';
import { chunksOf } from '#kernel/limits/chunks-of.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';
import type { RecordReader } from '#records/record-reader.ts';
import { shownJson } from '#records/sql/record-row.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { eventBytes, noCursor } from './live-events.ts';
import type { LivePlan } from './live-plan.ts';
import type { LiveQuery } from './live-query.ts';
import type { LiveSpace } from './live-space.ts';
import { type LiveStream, readSize } from './live-stream.ts';

/** Most bytes of values in a snapshot. */
export const mostBytes = 64 * 1024 * 1024;
/** Concurrent reads of the process, and of one account. */
const reads = { capacity: 16, share: 8, queueLimit: 20_000, full: 'too many snapshots wait' };

export interface SnapshotParts {
  readonly store: Pick<RecordStore, 'lookUp'>;
  readonly reader: RecordReader;
}

/** A stream that gets the changes of a space. */
export interface JoinedStream {
  readonly space: LiveSpace;
  readonly stream: LiveStream;
  readonly query: LiveQuery;
}

/**
 * Characters of an event, unless one record has more. Clients read a line or an event into a bounded buffer: r3labs/sse and
 * go-sse of 64 KiB, aiohttp of 128 KiB.
 */
const mostCharacters = 20_000;

/** As many events as records of this size need, and at least one. @param records JSON */
function snapshotBytes(records: readonly string[]): Buffer {
  const events: Buffer[] = [];
  let from = 0;
  let length = 0;
  for (let at = 0; at <= records.length; at++) {
    const next = records[at]?.length ?? mostCharacters;
    if (at > from && length + next > mostCharacters) {
      events.push(eventBytes('snapshot', noCursor, `[${records.slice(from, at).join()}]`));
      from = at;
      length = 0;
    }
    length += next;
  }
  return events.length === 0 ? eventBytes('snapshot', noCursor, '[]') : Buffer.concat(events);
}

/** Reads the records of live queries. Of each find, only the records of the next events are in memory. */
export class Snapshots {
  readonly #deps: SnapshotParts;
  readonly #share = new FairShare({ ...reads, accountQueueLimit: reads.queueLimit });

  constructor(deps: SnapshotParts) {
    this.#deps = deps;
  }

  /** The events of a snapshot, at least one. Throws a 413 if it has too many records or bytes. */
  async *events(
    view: RecordSpace,
    { conditions, shown, limit }: LivePlan,
    joined: JoinedStream,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const { reader } = this.#deps;
    const inTurn = <Result>(read: () => Promise<Result>) => this.#share.run(read, signal, view.ownerId);
    const found = await inTurn(() => reader.matching(view, { conditions, limit: limit + 1 }, signal));
    const bytes = found.reduce((sum, { _bytes }) => sum + _bytes, 0);
    if (found.length > limit || bytes > mostBytes) {
      const count = await inTurn(() => reader.count(view, signal, conditions));
      throw tooManyRecords(count, limit, mostBytes);
    }
    const perRead = Math.ceil(found.length / Math.max(1, Math.ceil(bytes / readSize.bytes)));
    let isSent = false;
    for (const chunk of chunksOf(found, Math.max(1, Math.min(perRead, readSize.records)))) {
      const ids = chunk.map(({ _id }) => _id);
      const rows = await inTurn(() => this.#read(view, ids, joined, signal));
      yield snapshotBytes(rows.map((row) => shownJson(row, shown)));
      isSent = true;
    }
    if (!isSent) yield snapshotBytes([]);
  }

  /** The events of deferred records, read as they are now. */
  async deferred(
    view: RecordSpace,
    { space, stream, query }: JoinedStream,
    signal: AbortSignal,
  ): Promise<ReturnType<LiveStream['take']>> {
    const deferred = stream.takeDeferred();
    const ids = deferred.map(({ id }) => id);
    const read = () => this.#read(view, ids, { space, stream, query }, signal);
    const rows = new Map((await this.#share.run(read, signal, view.ownerId)).map((row) => [row._id, row]));
    const events: Buffer[] = [];
    for (const { id, number, isNew } of deferred) {
      const row = rows.get(id);
      // the client never had it
      if (row === undefined && isNew) continue;
      const type = row === undefined ? 'leave' : isNew ? 'enter' : 'change';
      const data = row === undefined ? JSON.stringify({ id }) : shownJson(row, query.shown);
      events.push(eventBytes(type, space.cursorOf(query, number), data));
    }
    return { bytes: Buffer.concat(events), events: events.length, since: deferred[0]?.at ?? 0 };
  }

  /** Reads the records that still match: they may have changed since they were found. */
  async #read(
    view: RecordSpace,
    ids: readonly string[],
    { space, stream, query }: JoinedStream,
    signal: AbortSignal,
  ): Promise<readonly StoredRow[]> {
    const rows = await space.betweenChanges(signal, async () => {
      stream.beginRead(ids);
      const found = await Promise.all(ids.map((id) => this.#deps.store.lookUp(view, { id }, signal)));
      const matching = found.flat().filter((row) => query.matches(row));
      for (const row of matching) query.noteRead(row);
      return matching;
    });
    await space.caughtUp();
    stream.endRead();
    return rows;
  }
}
