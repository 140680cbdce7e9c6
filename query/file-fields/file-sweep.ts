import { randomUUID } from 'node:crypto';
import type { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import type { FileDrop, FilesPlace, FileUse, StoredUse } from '#catalogue/file-uses/file-use.ts';
import type { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { usesAtOnce } from '#catalogue/file-uses/file-uses.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import type { Log } from '#kernel/log/log.ts';
import { namesInRow } from '#records/file-fields.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { OpenUses } from './open-uses.ts';

interface FileSweepParts {
  readonly uses: FileUses;
  readonly marks: FileMarks;
  readonly store: Pick<RecordStore, 'lookUp' | 'singleWriter'>;
  readonly spaces: { find(id: string, signal: AbortSignal): Promise<RecordSpace | null> };
  readonly open: OpenUses;
  /** Deletes condemned files, if this process can. */
  readonly deleteCondemned: () => void;
  readonly log: Pick<Log, 'warn'>;
}

/** Milliseconds between searches for drops of other processes, and of one run. */
const every = 60_000;
const runLimit = 300_000;
/** Drops that wait in memory, and that one round works off. */
const mostWaiting = 10_000;
const dropsAtOnce = 200;
/** Records that are looked up concurrently. */
const lookUpsAtOnce = 16;

/** What is known about a use. */
type Verdict = 'holds' | 'open' | 'ended';

/** Finds files that no record names any more (docs/decisions/074-a-file-field.md). */
export class FileSweep {
  readonly #parts: FileSweepParts;
  readonly #closing = new AbortController();
  /** Drops of this process whose writes have ended. */
  #waiting: FileDrop[] = [];
  #running: Promise<void> = Promise.resolve();
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: FileSweepParts) {
    this.#parts = parts;
  }

  /** The writes of the drops have ended. */
  readonly settled = (drops: readonly FileDrop[]): void => {
    // the others are found in their table
    if (this.#waiting.length < mostWaiting) this.#waiting.push(...drops);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#then((signal) => {
      this.#isScheduled = false;
      return this.#workOffWaiting(signal);
    });
  };

  /** Called before this process writes. Without other processes, all drops are left by one that died. */
  async adopt(signal: AbortSignal): Promise<void> {
    const { uses, store } = this.#parts;
    if (store.singleWriter) this.#waiting.push(...(await uses.oldDrops(mostWaiting, 'all', signal)));
  }

  start(): void {
    this.settled([]);
    const run = (): void => this.#then((signal) => this.workOffOld(signal));
    run();
    this.#timer = setInterval(run, every).unref();
  }

  /** Resolves when what began before has ended. */
  idle(): Promise<void> {
    return this.#running;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort(new Error('the server stops'));
    await this.#running;
  }

  /** Works off drops whose processes did not. */
  async workOffOld(signal: AbortSignal): Promise<void> {
    const { uses, marks } = this.#parts;
    for (;;) {
      const drops = await uses.oldDrops(dropsAtOnce, 'old', signal);
      if (drops.length === 0) break;
      // what can't be decided yet is left to the next run
      if (!(await this.#workOff(drops, signal))) break;
    }
    await marks.removeOldMarks(signal);
    this.#parts.deleteCondemned();
  }

  async #workOffWaiting(signal: AbortSignal): Promise<void> {
    while (this.#waiting.length > 0) {
      const drops = this.#waiting.slice(0, dropsAtOnce);
      this.#waiting = this.#waiting.slice(dropsAtOnce);
      await this.#workOff(drops, signal);
    }
  }

  /** One after another. Never rejects: what fails is found in its table again. */
  #then(work: (signal: AbortSignal) => Promise<void>): void {
    const { signal: closing } = this.#closing;
    const run = async (): Promise<void> => {
      if (closing.aborted) return;
      try {
        await withDeadline(closing, runLimit, (attempt) => work(attempt.signal));
      } catch (error) {
        if (!closing.aborted)
          this.#parts.log.warn({ err: error }, 'files of records are left to a later sweep');
      }
    };
    this.#running = this.#running.then(run);
  }

  /** Resolves with whether everything could be decided. */
  async #workOff(drops: readonly FileDrop[], signal: AbortSignal): Promise<boolean> {
    const { uses } = this.#parts;
    const groups = new Map<string, FileDrop[]>();
    for (const drop of drops) {
      const key = `${drop.place.ownerId} ${drop.place.slug} ${drop.space}`;
      groups.set(key, [...(groups.get(key) ?? []), drop]);
    }
    let isDecided = true;
    for (const group of groups.values()) {
      const [{ place, space }] = group as [FileDrop, ...FileDrop[]];
      const records = group.flatMap(({ record }) => record ?? []);
      let areDecided = true;
      if (records.length < group.length) areDecided = await this.#judgeSpace(place, space, signal);
      else areDecided = await this.#judge(place, await uses.ofRecords(place, space, records, signal), signal);
      if (areDecided) await uses.workedOff(group, signal);
      else isDecided = false;
    }
    return isDecided;
  }

  async #judgeSpace(place: FilesPlace, space: string, signal: AbortSignal): Promise<boolean> {
    let isDecided = true;
    for (let after = { record: '', name: '' }; ; ) {
      const page = await this.#parts.uses.ofSpace(place, space, after, signal);
      if (!(await this.#judge(place, page, signal))) isDecided = false;
      const last = page.at(-1);
      if (last === undefined || page.length < usesAtOnce) return isDecided;
      after = last;
    }
  }

  /** Finds the uses that have ended, and condemns their files if nobody else uses them. */
  async #judge(place: FilesPlace, all: readonly StoredUse[], signal: AbortSignal): Promise<boolean> {
    const verdicts = await this.#verdicts(all, signal);
    const ended = all.filter((_, at) => verdicts[at] === 'ended');
    const names = [...new Set(ended.map(({ name }) => name))];
    let isDecided = !verdicts.includes('open');
    for (let from = 0; from < names.length; from += dropsAtOnce) {
      const some = names.slice(from, from + dropsAtOnce);
      if (!(await this.#release(place, some, signal))) isDecided = false;
    }
    // a use that owns its file stays while others do: the file goes with the last of them
    await this.#parts.uses.end(
      place,
      ended.filter(({ owns }) => !owns),
      signal,
    );
    return isDecided;
  }

  async #release(place: FilesPlace, names: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { marks, deleteCondemned } = this.#parts;
    // most files that another record names need no mark
    const before = await this.#stateOf(place, names, signal);
    const free = names.filter((name) => before.get(name)?.verdict === 'ended');
    let isDecided = ![...before.values()].some(({ verdict }) => verdict === 'open');
    if (free.length === 0) return isDecided;
    const token = randomUUID();
    await marks.mark(
      free.map((name) => ({ place, name })),
      token,
      signal,
    );
    try {
      const now = await this.#stateOf(place, free, signal);
      const ended = free.filter((name) => now.get(name)?.verdict === 'ended');
      if (ended.length < free.length) isDecided = false;
      const owned = ended.filter((name) => now.get(name)?.owns);
      if (ended.length > 0) {
        await marks.condemn(owned, token, signal);
        await this.#forget(place, ended, signal);
      }
    } finally {
      await marks.unmark(free, token, AbortSignal.timeout(every)).catch(() => {});
    }
    deleteCondemned();
    return isDecided;
  }

  /** Removes the uses that have ended, one by one: a write may have noted another use of the file by now. */
  async #forget(place: FilesPlace, names: readonly string[], signal: AbortSignal): Promise<void> {
    const { uses } = this.#parts;
    for (let after: StoredUse | null = null; ; ) {
      const page: readonly StoredUse[] = await uses.ofNames(place, names, after, signal);
      const verdicts = await this.#verdicts(page, signal);
      const ended = page.filter((_, at) => verdicts[at] === 'ended');
      await uses.end(place, ended, signal);
      const last = page.at(-1);
      if (last === undefined || page.length < usesAtOnce) return;
      after = last;
    }
  }

  /** Whether somebody uses the files, and whether one of the uses owns its file. */
  async #stateOf(
    place: FilesPlace,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, { readonly verdict: Verdict; readonly owns: boolean }>> {
    const state = new Map(names.map((name) => [name, { verdict: 'ended' as Verdict, owns: false }]));
    let left = names;
    for (let after: StoredUse | null = null; left.length > 0; ) {
      const page: readonly StoredUse[] = await this.#parts.uses.ofNames(place, left, after, signal);
      const verdicts = await this.#verdicts(page, signal);
      for (const [at, { name, owns }] of page.entries()) {
        const known = state.get(name) as { verdict: Verdict; owns: boolean };
        if (owns) known.owns = true;
        if (verdicts[at] === 'holds' || (verdicts[at] === 'open' && known.verdict === 'ended'))
          known.verdict = verdicts[at];
      }
      const last = page.at(-1);
      if (last === undefined || page.length < usesAtOnce) break;
      after = last;
      left = left.filter((name) => name >= last.name && state.get(name)?.verdict !== 'holds');
    }
    return state;
  }

  /** Looks up the records of uses. */
  async #verdicts(all: readonly StoredUse[], signal: AbortSignal): Promise<readonly Verdict[]> {
    const { spaces, store, open } = this.#parts;
    const named = new Map<string, ReadonlySet<string>>();
    const keyOf = ({ space, record }: FileUse): string => `${space} ${record}`;
    const records = new Map(all.map((use) => [keyOf(use), use]));
    // before the look-ups: a write that ends now is seen by them
    const isOpen = all.map((use) => open.has(use) || (use.isYoung && !store.singleWriter));
    await forEachAtOnce([...records], lookUpsAtOnce, async ([key, { space: id, record }]) => {
      const space = await spaces.find(id, signal);
      if (space === null) return;
      const [row] = await store.lookUp(space, { id: record }, signal);
      if (row !== undefined) named.set(key, namesInRow(space.stored, row));
    });
    return all.map((use, at) => {
      if (named.get(keyOf(use))?.has(use.name)) return 'holds';
      return isOpen[at] ? 'open' : 'ended';
    });
  }
}
