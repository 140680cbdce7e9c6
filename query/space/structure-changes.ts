import type { RecordSpace } from '#records/structure/record-space.ts';
import { createStructure, type Structure, structureText } from '#records/structure/structure.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import type { CatalogueVersions } from './catalogue-versions.ts';
import { ChangeLimit } from './change-limit.ts';
import { checkSwitchedOn, switchedOn } from './check-values.ts';
import { begun, isEmpty, prepareInitialRecords } from './initial-records.ts';
import type { KnownSpaces } from './known-spaces.ts';
import { mergeStructure } from './merge-structure.ts';
import type { SpaceRequest, SpacesParts } from './spaces-deps.ts';
import { agrees, agreesOnAuth, agreesOnTypes } from './structure-view.ts';

interface StructureChangesParts extends SpacesParts {
  readonly known: KnownSpaces;
  readonly versions: CatalogueVersions;
}

/** Milliseconds that earlier writes may take when a rule is switched on. */
const idleLimit = 10_000;
/** How often a space may return to an earlier structure; beyond that the stricter rules stay. */
const returnLimit = { per: 60_000, limit: 20 };

export class StructureChanges {
  readonly #deps: StructureChangesParts;
  readonly #returns = new ChangeLimit(returnLimit);

  constructor(deps: StructureChangesParts) {
    this.#deps = deps;
  }

  /** The space as the request sees it; null if another process changed it meanwhile. */
  async reconcile(
    entry: CatalogueEntry,
    stored: RecordSpace,
    { structure, headers }: SpaceRequest,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> {
    if (structure === null) return stored;
    const { mutate } = headers;
    const again = this.#deps.known.hasMerged(entry.id, structure);
    // during a type change only requests whose structure agrees get here, and nothing is stored
    const reads = entry.structure.typeChange !== null;
    const settled =
      reads || (again && (agrees(entry.structure, structure) || this.#keepsStrict(entry, structure)));
    const merged = settled ? entry.structure : mergeStructure(entry.structure, structure, mutate);
    const begins = !reads && mutate && structure.initialData.length > 0 && entry.initialRecords === '';
    const same = settled || structureText(merged) === structureText(entry.structure);
    if (same && !begins) return this.#deps.known.addView(stored, structure, mutate && !reads);
    if (again && !same) this.#returns.note(entry.id);
    const version = (this.#deps.known.versionOf(entry.id) ?? entry.version) + 1;
    const initialRecords = begins
      ? await this.#initialRecords(stored, merged, structure, signal)
      : entry.initialRecords && begun;
    const next = { ...entry, structure: merged, version, initialRecords, updatedAt: new Date() };
    const changed = await this.#whenRulesHold(
      stored,
      merged,
      () => this.#deps.versions.store(next, signal),
      signal,
    );
    return changed === null ? null : this.#deps.known.addView(changed, structure, mutate);
  }

  /** The initial records of an existing space. The first request with records decides, and only an empty space gets them. */
  async #initialRecords(
    space: RecordSpace,
    merged: Structure,
    { initialData }: Structure,
    signal: AbortSignal,
  ): Promise<string> {
    if (!(await isEmpty(this.#deps.store, space, signal))) return begun;
    const structure = createStructure({ ...merged, initialData });
    return prepareInitialRecords(this.#deps, { ...space, structure }, signal);
  }

  /** Whether to ignore that a structure differs from the stored one: it would only lift rules, once too often. */
  #keepsStrict({ id, structure: stored }: CatalogueEntry, requested: Structure): boolean {
    return (
      this.#returns.reached(id) &&
      agreesOnTypes(stored, requested) &&
      (requested.auth?.active !== true || agreesOnAuth(stored, requested)) &&
      !addsRules(stored, requested)
    );
  }

  /** Makes a change. If it adds rules that stored records must obey, nobody writes meanwhile. */
  async #whenRulesHold(
    space: RecordSpace,
    after: Structure,
    change: () => Promise<RecordSpace | null>,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> {
    if (!addsRules(space.stored, after)) return change();
    return this.#deps.known.whileClosed(space.catalogueId, async () => {
      await this.#deps.writes.idle(space.id, idleLimit);
      await checkSwitchedOn(this.#deps.store, { space, after }, signal);
      return change();
    });
  }
}

function addsRules(before: Structure, after: Structure): boolean {
  return switchedOn(before, after, 'required').length + switchedOn(before, after, 'unique').length > 0;
}
