import { setTimeout as sleep } from 'node:timers/promises';
import { textLiteral } from '#engine/literal.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { createStructure } from '#records/structure/structure.ts';
import {
  type CatalogueEntry,
  droppedVersion,
  isAbandoned,
  isMoving,
  newMove,
  recordsIdOf,
} from './catalogue-entry.ts';
import type { CatalogueVersions } from './catalogue-versions.ts';
import { RecordsCopy } from './records-copy.ts';
import { clearMoved } from './removals.ts';
import type { SpacesParts } from './spaces-deps.ts';

export interface MoveParts extends Pick<SpacesParts, 'store' | 'catalogue' | 'freshness'> {
  readonly versions: CatalogueVersions;
  /** Shows the operator the progress. */
  readonly report: (text: string) => void;
}

/** Most passes while the space is written to. Each has less to copy than the one before. */
const mostPasses = 20;
/** Differing records below which writers are made to wait. */
const fewRecords = 100_000;
/** Milliseconds that writers may wait. */
const holdLimit = 60_000;

/**
 * Moves a space to another store while it is read and written, in steps that a kill may interrupt anywhere:
 *
 *   1. the catalogue notes the id of the copy, and records are copied until few differ
 *   2. a version says that the space is moving: once every process has heard of it, nobody writes to the space
 *   3. the last differences and the receipts of inserts are copied
 *   4. a version says that the space is in the other store. As this is one write, the space is complete in one of the two
 *   5. once no request can read the old records, they are deleted
 *
 * A move that is interrupted before step 4 never happened. The same command resumes the copy; otherwise it is deleted later
 * (removals.ts). Writes wait in steps 2 and 3, up to 75 s if the move is interrupted there.
 */
export async function moveSpace(
  deps: MoveParts,
  { id, store: target }: { readonly id: string; readonly store: number },
  signal: AbortSignal,
): Promise<void> {
  const { store, versions, report, freshness } = deps;
  // stores the initial records, if any are missing
  await versions.read(id, signal);
  const entry = await begin(deps, { id, target }, signal);
  const { recordsId, leftRecords: to } = entry;
  const copy = new RecordsCopy({ store, from: recordsId, to });
  const shown = (records: number): void => report(`${records.toLocaleString('en')} records are copied`);
  for (let pass = 0; pass < mostPasses && (await copy.pass(signal, shown)) > fewRecords; pass++);
  report('writers wait');
  await withDeadline(signal, holdLimit, (attempt) =>
    switchStore(deps, { id, target, entry, copy }, attempt.signal),
  );
  report('the space is in the other store, and writers continue');
  const { outdatedAfter } = freshness.others;
  report(`the old records will be deleted in ${Math.round(outdatedAfter / 1000)} s`);
  await sleep(outdatedAfter, undefined, { signal });
  await clearMoved(deps, id, signal);
}

/** Copies the rest, and switches the space to the other store, while writers wait. */
async function switchStore(
  deps: MoveParts,
  {
    id,
    target,
    entry,
    copy,
  }: {
    readonly id: string;
    readonly target: number;
    readonly entry: CatalogueEntry;
    readonly copy: RecordsCopy;
  },
  signal: AbortSignal,
): Promise<void> {
  const { recordsId, leftRecords: to } = entry;
  const { versions, freshness } = deps;
  const move = newMove();
  /** Another move that waits here was interrupted, or will fail from now on. */
  const isFree = (now: CatalogueEntry): boolean =>
    now.structure.typeChange === null || isMoving(now.structure) || isAbandoned(now, freshness);
  const edit = (
    from: (now: CatalogueEntry) => boolean,
    typeChange: string | null,
    within: AbortSignal,
  ): Promise<boolean> =>
    versions.edit(
      id,
      (now) =>
        from(now) && now.recordsId === recordsId ? createStructure({ ...now.structure, typeChange }) : null,
      within,
    );
  if (!(await edit(isFree, move, signal)))
    throw new CommandError('the structure of the space is being changed: try again');
  try {
    await sleep(Math.min(freshness.staleAfter, freshness.heardAfter), undefined, { signal });
    while ((await copy.pass(signal)) > 0);
    await copyReceipts(deps, entry, signal);
    await arrive(deps, { id, move, to, target }, signal);
  } catch (error) {
    // if this fails, or the move may have succeeded, the next request that finds the space waiting cleans up
    if (!(error instanceof UnknownOutcome))
      await edit(
        ({ structure }) => structure.typeChange === move,
        null,
        AbortSignal.timeout(holdLimit),
      ).catch(() => {});
    throw error;
  }
}

/** Notes the id of the copy in the catalogue. */
async function begin(
  deps: MoveParts,
  { id, target }: { readonly id: string; readonly target: number },
  signal: AbortSignal,
): Promise<CatalogueEntry> {
  const { catalogue } = deps;
  for (;;) {
    const entry = await catalogue.find(id, signal);
    if (entry === null) throw new CommandError('there is no such record space');
    if (entry.store === target) throw new CommandError('the space is already in that store');
    const leftRecords = recordsIdOf({ id, version: droppedVersion(entry.version), store: target });
    if (entry.leftRecords === leftRecords) return entry;
    if (entry.leftRecords !== '') await clearMoved(deps, id, signal);
    else {
      const next = { ...entry, version: entry.version + 1, leftRecords, updatedAt: new Date() };
      if (await catalogue.store(next, signal)) return next;
    }
  }
}

/** Stores that the space is in its new store, if nothing changed in between. */
async function arrive(
  { catalogue, versions }: MoveParts,
  { id, move, to, target }: { id: string; move: string; to: string; target: number },
  signal: AbortSignal,
): Promise<void> {
  const now = await catalogue.find(id, signal);
  if (now?.structure.typeChange !== move || now.leftRecords !== to)
    throw new CommandError('the move took too long: try again');
  const moved: CatalogueEntry = {
    ...now,
    version: droppedVersion(now.version),
    recordsId: to,
    store: target,
    leftRecords: now.recordsId,
    structure: createStructure({ ...now.structure, typeChange: null }),
    updatedAt: new Date(),
  };
  if (!(await catalogue.store(moved, signal)))
    throw new CommandError('the space was changed meanwhile: try again');
  await versions.announce({ ...moved, recordsId: now.recordsId });
}

/** Copies the receipts of inserts, so that an insert that is repeated with its key is recognized there, too. */
async function copyReceipts(
  { store }: Pick<MoveParts, 'store'>,
  { id, recordsId, leftRecords }: CatalogueEntry,
  signal: AbortSignal,
): Promise<void> {
  const { table } = store;
  const [from, to] = [table.receiptsOf(recordsId), table.receiptsOf(leftRecords)];
  const where = `_doc['m2'] = ${textLiteral(id)}`;
  await new RecordsCopy({ store, from, to, where }).pass(signal);
}
