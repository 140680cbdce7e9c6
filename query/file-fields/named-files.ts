import { setTimeout as sleep } from 'node:timers/promises';
import { type BoundSender, conditionFor } from '#catalogue/file-rules/file-rules.ts';
import { meets, type RuledFile } from '#catalogue/file-rules/file-test.ts';
import type { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { type FilesPlace, permitted } from '#catalogue/file-uses/file-use.ts';
import type { FileUses } from '#catalogue/file-uses/file-uses.ts';
import type { Projects } from '#catalogue/projects.ts';
import { invalidValue, overloaded } from '#kernel/errors/catalogue.ts';
import { Problems } from '#kernel/errors/problems.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Log } from '#kernel/log/log.ts';
import { fileFieldsOf, namesInValues } from '#records/file-fields.ts';
import type { RecordValues } from '#records/input/validate-record.ts';
import { type BegunUses, type FoundFiles, noFile, type RecordFiles } from '#records/record-files.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { typeEntry } from '#records/types/field-types.ts';
import { factsText, namesIn } from '#records/types/file.ts';
import type { FileSweep } from './file-sweep.ts';
import type { OpenUses } from './open-uses.ts';

interface NamedFilesParts {
  readonly uses: FileUses;
  readonly marks: Pick<FileMarks, 'marked'>;
  readonly projects: Pick<Projects, 'find' | 'files'>;
  readonly open: OpenUses;
  readonly sweep: Pick<FileSweep, 'settled'>;
  readonly log: Pick<Log, 'warn'>;
}

/** Files that one request may name, and names of one look-up. */
const mostNames = 10_000;
const namesAtOnce = 1000;
/** Drops of more records are one drop of their space. */
const mostRecords = 1000;
/** How often a write asks for the outcome of a sweep that decides about one of its files. Milliseconds. */
const decisions = { tries: 40, pause: 50 };
const cleanupTimeout = 30_000;

/** The files that records name. */
export class NamedFiles implements RecordFiles {
  readonly #parts: NamedFilesParts;

  constructor(parts: NamedFilesParts) {
    this.#parts = parts;
  }

  async find(
    space: RecordSpace,
    records: readonly RecordValues[],
    signal: AbortSignal,
  ): Promise<FoundFiles | null> {
    const names = new Set<string>();
    for (const values of records) for (const name of namesInValues(space.structure, values)) names.add(name);
    if (names.size === 0) return null;
    if (names.size > mostNames)
      throw invalidValue([`The records name ${names.size} files; a request may name ${mostNames}`]);
    const found = await this.findNamed(space, [...names], signal);
    const problems = new Problems();
    for (const [index, values] of records.entries())
      for (const { field, place } of fileFieldsOf(space.structure)) {
        const value = values[place] ?? null;
        if (value === null) continue;
        if (namesIn(typeEntry(field.type), value).every((name) => found.texts.has(name))) continue;
        const where = records.length > 1 ? ` (record at index ${index})` : '';
        problems.add(`Value for Body field: ${shownName(field.name)} ${noFile}${where}`);
      }
    if (problems.found) throw invalidValue(problems.list());
    return found;
  }

  /** Those among the names that the sender may read. */
  async findNamed(space: RecordSpace, names: readonly string[], signal: AbortSignal): Promise<FoundFiles> {
    const place = placeOf(space);
    const sender = await this.#senderOf(space, place, signal);
    const texts = new Map<string, string>();
    const owned = new Set<string>();
    if (sender === null) return { texts, owned };
    for (let from = 0; from < names.length; from += namesAtOnce) {
      const some = names.slice(from, from + namesAtOnce);
      for (const file of await this.#parts.projects.files.named(place, some, signal)) {
        if (!sender.mayRead(file)) continue;
        texts.set(file.name, factsText({ ...file, size: file.size ?? 0 }));
        if (sender.mayDelete(file)) owned.add(file.name);
      }
    }
    return { texts, owned };
  }

  async begin(
    space: RecordSpace,
    records: Parameters<RecordFiles['begin']>[1],
    { owned }: FoundFiles,
    signal: AbortSignal,
  ): Promise<BegunUses> {
    const { uses, open, log } = this.#parts;
    const place = placeOf(space);
    const { catalogueId, structure } = space;
    const added = records.flatMap(({ id: record, values }) =>
      namesInValues(structure, values).map((name) => ({
        space: catalogueId,
        record,
        name,
        owns: owned.has(name),
      })),
    );
    const began = performance.now();
    open.open(added);
    const end: BegunUses['end'] = async (stored) => {
      open.close(added);
      if (stored === 'maybe') return;
      try {
        await uses.end(place, added, AbortSignal.timeout(cleanupTimeout));
      } catch (error) {
        log.warn({ err: error }, 'uses of files by records that were not stored are left');
      }
    };
    try {
      await uses.add(place, added, signal);
      await this.#assertThere(place, [...new Set(added.map(({ name }) => name))], signal);
    } catch (error) {
      // another write of the record may have made the same use
      await end(records[0]?.isNew ? 'never' : 'maybe');
      throw error;
    }
    const check = (): void => {
      if (performance.now() - began > permitted.begin)
        throw overloaded('the write of the record took too long');
    };
    return { permit: { check, timeLimit: permitted.write }, end };
  }

  async drop(
    space: Parameters<RecordFiles['drop']>[0],
    records: readonly string[] | 'all',
    signal: AbortSignal,
  ): Promise<() => void> {
    const ids = records === 'all' || records.length > mostRecords ? [null] : records;
    const dropped = ids.map((record) => ({ space: space.catalogueId, record }));
    const drops = await this.#parts.uses.drop(placeOf(space), dropped, signal);
    return () => this.#parts.sweep.settled(drops);
  }

  /** Rejects with a 400 if one of the files is gone. Waits while a sweep decides about one of them. */
  async #assertThere(place: FilesPlace, names: readonly string[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < names.length; from += namesAtOnce)
      await this.#assertUnmarked(place, names.slice(from, from + namesAtOnce), signal);
  }

  async #assertUnmarked(place: FilesPlace, names: readonly string[], signal: AbortSignal): Promise<void> {
    let asked = names;
    for (let time = 0; time < decisions.tries; time++) {
      const marked = await this.#parts.marks.marked(asked, signal);
      if (marked.length === 0) return;
      const namesOf = (wanted: string) =>
        marked.filter(({ kind }) => kind === wanted).map(({ name }) => name);
      const [gone, past, undecided] = [namesOf('gone'), namesOf('past'), namesOf('mark')];
      // a copy may have been stored under the name since then: a backup that was restored
      const stored = past.length > 0 ? await this.#parts.projects.files.stored(place, past, signal) : null;
      const missing = [...gone, ...past.filter((name) => !stored?.has(name))];
      if (missing.length > 0)
        throw invalidValue(
          missing.map((name) => `The file ${shownName(name)} is being deleted, and can not be named`),
        );
      if (undecided.length === 0) return;
      asked = undecided;
      await sleep(decisions.pause, undefined, { signal });
    }
    throw overloaded('a file that the request names is being checked');
  }

  /** What a sender may do with files; null: nothing. */
  async #senderOf(
    { bound }: RecordSpace,
    { ownerId, slug }: FilesPlace,
    signal: AbortSignal,
  ): Promise<{
    readonly mayRead: (file: RuledFile) => boolean;
    readonly mayDelete: (file: RuledFile) => boolean;
  } | null> {
    if (bound === undefined) return { mayRead: () => true, mayDelete: () => true };
    const rules = (await this.#parts.projects.find(ownerId, slug, signal))?.fileRules;
    if (rules === undefined) return null;
    // an id names a user of one space, and another one of another space
    const sender: BoundSender = { user: bound.users === rules.users ? bound.user : null, rules };
    const [read, remove] = [conditionFor(sender, 'read'), conditionFor(sender, 'delete')];
    return {
      mayRead: (file) => read !== null && meets(read, file) === true,
      mayDelete: (file) => remove !== null && meets(remove, file) === true,
    };
  }
}

function placeOf({ ownerId, stored }: Pick<RecordSpace, 'ownerId' | 'stored'>): FilesPlace {
  return { ownerId, slug: stored.projectSlug };
}
