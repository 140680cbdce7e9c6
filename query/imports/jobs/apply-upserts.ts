import { ApiError } from '#kernel/errors/api-error.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { OnConflict } from '#records/input/parse-on-conflict.ts';
import { validateRecord } from '#records/input/validate-record.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type UpsertParts, Upserts } from '#records/upserts.ts';
import type { InFlightWrites } from '../../space/in-flight-writes.ts';
import type { Spaces } from '../../space/spaces.ts';
import type { RecordProblem } from '../thread/file-records.ts';
import type { UpsertedRecord } from '../thread/thread-messages.ts';
import { assertUnchanged, SpaceChanged } from './space-changed.ts';

export interface ApplyParts extends Omit<UpsertParts, 'events'> {
  readonly spaces: Pick<Spaces, 'hold' | 'endLeft' | 'find'>;
  readonly writes: Pick<InFlightWrites, 'counted'>;
}

/** Records that are changed concurrently. */
const atOnce = 16;

/** Imports call no webhooks. */
const noEvents: RecordEvents = { async publish() {} };

/** Updates stored records from records of a file. Returns their problems. Throws SpaceChanged if the space has changed. */
export async function applyUpserts(
  deps: ApplyParts,
  space: RecordSpace,
  onConflict: OnConflict,
  records: readonly UpsertedRecord[],
  signal: AbortSignal,
): Promise<readonly RecordProblem[]> {
  const problems: RecordProblem[] = [];
  const { fields } = space.structure;
  const { store, reader, records: inserts, changes } = deps;
  const upsertParts = { store, reader, records: inserts, changes, events: noEvents };
  const upsert = async ({ line, rawValues }: UpsertedRecord): Promise<void> => {
    const record = Object.fromEntries(
      fields.flatMap(({ name }, place) => (rawValues[place] === undefined ? [] : [[name, rawValues[place]]])),
    );
    try {
      const values = validateRecord(record, space.structure);
      await new Upserts(upsertParts, { space, onConflict, given: [record], values: [values] }, signal).run();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      problems.push({ line, field: null, reason: error.message });
    }
  };
  await deps.writes.counted(space.id, async () => {
    const now = await deps.spaces.find(space.catalogueId, signal);
    if (now === null || now.stored.typeChange !== null) throw new SpaceChanged();
    assertUnchanged(space, now.id, now.stored);
    await forEachAtOnce(records, atOnce, upsert);
  });
  return problems;
}
