import { setTimeout as sleep } from 'node:timers/promises';
import { textLiteral } from '#engine/literal.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { createStructure } from '#records/structure/structure.ts';
import type { CatalogueVersions } from './catalogue-versions.ts';
import { RecordsCopy } from './records-copy.ts';
import { clearMoved } from './removals.ts';
import {
  type CatalogueEntry,
  droppedVersion,
  isAbandoned,
  isMoving,
  newMove,
  recordsIdOf,
} from './space-catalogue.ts';
import type { SpacesParts } from './spaces-deps.ts';

export interface MoveParts extends Pick<SpacesParts, 'store' | 'catalogue' | 'freshness'> {
  readonly versions: CatalogueVersions;
  /** Shows the operator how far it is. */
  readonly report: (text: string) => void;
}

/** Passes while the space is written to: each has less to copy than the one before. */
const mostPasses = 20;
/** Records that differ, with which the writers are asked to wait. */
const fewRecords = 100_000;
/** How long they may wait. Milliseconds. */
const holdLimit = 60_000;

/**
 * Moves a space to another store while it is read and written, in steps that a kill can cut anywhere:
 *
 *   1. the catalogue notes under which id the copy will lie, and the records are copied until few differ
 *   2. a version says that the space moves: from when every process has heard of that, nobody writes to it
 *   3. what still differs is copied, and the receipts of its inserts
 *   4. a version says that the space is in the other store. That is one write, so it is whole in one of the two
 *   5. when no request can read them any more, the records are deleted where they were
 *
 * A move that was cut off before step 4 never happened. The same command goes on with the copy; where nobody does, it is
 * deleted later (removals.ts). Writes wait in step 2 and 3: up to 75 s when it was cut off there.
 */
export async function moveSpace(
  deps: MoveParts,
  { id, store: target }: { readonly id: string; readonly store: number },
  signal: AbortSignal,
): Promise<void> {
  const { store, versions, report, freshness } = deps;
  // stores the records that it begins with, if it has any
  await versions.read(id, signal);
  const entry = await begin(deps, { id, target }, signal);
  const { recordsId, leftRecords: to } = entry;
  const copy = new RecordsCopy({ store, from: recordsId, to });
  const shown = (records: number): void => report(`${records.toLocaleString('en')} records are there`);
  for (let pass = 0; pass < mostPasses && (await copy.pass(signal, shown)) > fewRecords; pass++);
  report('writers wait');
  await withDeadline(signal, holdLimit, (attempt) =>
    arriveHeld(deps, { id, target, entry, copy }, attempt.signal),
  );
  report('the space is in the other store, and writers go on');
  const { outdatedAfter } = freshness.others;
  report(`the records are deleted where they were, in ${Math.round(outdatedAfter / 1000)} s`);
  await sleep(outdatedAfter, undefined, { signal });
  await clearMoved(deps, id, signal);
}

/** Copies what is left, and makes the space that of the other store, while writers wait. */
async function arriveHeld(
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
  own: AbortSignal,
): Promise<void> {
  const { recordsId, leftRecords: to } = entry;
  const { versions, freshness } = deps;
  const move = newMove();
  /** Another move that waits here was cut off, or goes on in vain from now on. */
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
  if (!(await edit(isFree, move, own)))
    throw new CommandError('the structure of the space is being changed: try again');
  try {
    await sleep(Math.min(freshness.staleAfter, freshness.heardAfter), undefined, { signal: own });
    while ((await copy.pass(own)) > 0);
    await copyReceipts(deps, entry, own);
    await arrive(deps, { id, move, to, target }, own);
  } catch (error) {
    // where this fails, or the move may have been made after all, the next request that finds the space waiting does it
    if (!(error instanceof UnknownOutcome))
      await edit(
        ({ structure }) => structure.typeChange === move,
        null,
        AbortSignal.timeout(holdLimit),
      ).catch(() => {});
    throw error;
  }
}

/** Notes where the copy will lie. */
async function begin(
  deps: MoveParts,
  { id, target }: { readonly id: string; readonly target: number },
  signal: AbortSignal,
): Promise<CatalogueEntry> {
  const { catalogue } = deps;
  for (;;) {
    const entry = await catalogue.find(id, signal);
    if (entry === null) throw new CommandError('there is no such record space');
    if (entry.store === target) throw new CommandError('the space is in that store already');
    const leftRecords = recordsIdOf({ id, version: droppedVersion(entry.version), store: target });
    if (entry.leftRecords === leftRecords) return entry;
    if (entry.leftRecords !== '') await clearMoved(deps, id, signal);
    else {
      const next = { ...entry, version: entry.version + 1, leftRecords, updatedAt: new Date() };
      if (await catalogue.store(next, signal)) return next;
    }
  }
}

/** Says that the space is in its new store, if nothing came in between. */
async function arrive(
  { catalogue, versions }: MoveParts,
  { id, move, to, target }: { id: string; move: string; to: string; target: number },
  signal: AbortSignal,
): Promise<void> {
  const now = await catalogue.find(id, signal);
  if (now?.structure.typeChange !== move || now.leftRecords !== to)
    throw new CommandError('the move took too long, and was given up: try again');
  const moved: CatalogueEntry = {
    ...now,
    ...{ version: droppedVersion(now.version), recordsId: to, store: target, leftRecords: now.recordsId },
    structure: createStructure({ ...now.structure, typeChange: null }),
    updatedAt: new Date(),
  };
  if (!(await catalogue.store(moved, signal)))
    throw new CommandError('the space was changed meanwhile: try again');
  await versions.announce({ ...moved, recordsId: now.recordsId });
}

/** So that an insert that is repeated with its key is known there, too. */
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
