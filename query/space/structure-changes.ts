import type { RecordSpace } from '#records/structure/record-space.ts';
import { createStructure, type Structure, structureText } from '#records/structure/structure.ts';
import type { CatalogueVersions } from './catalogue-versions.ts';
import { ChangeLimit } from './change-limit.ts';
import { checkSwitchedOn, switchedOn } from './check-values.ts';
import { begun, isEmpty, prepareInitialRecords } from './initial-records.ts';
import type { KnownSpaces } from './known-spaces.ts';
import { mergeStructure } from './merge-structure.ts';
import type { CatalogueEntry } from './space-catalogue.ts';
import type { SpaceRequest, SpacesParts } from './spaces-deps.ts';
import { agrees, agreesOnAuth, agreesOnTypes } from './structure-view.ts';

interface StructureChangesParts extends SpacesParts {
  readonly known: KnownSpaces;
  readonly versions: CatalogueVersions;
}

/** How long the writes that began before a rule was switched on may take. */
const idleLimit = 10_000;
/** How often a space may go back to a structure that it had before; then the stricter rules stay. */
const returnLimit = { per: 60_000, limit: 20 };

export class StructureChanges {
  readonly #deps: StructureChangesParts;
  readonly #returns = new ChangeLimit(returnLimit);

  constructor(deps: StructureChangesParts) {
    this.#deps = deps;
  }

  /** The space as the request sees it; null when another process changed it meanwhile. */
  async reconcile(
    entry: CatalogueEntry,
    stored: RecordSpace,
    { structure, headers }: SpaceRequest,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> {
    if (structure === null) return stored;
    const { mutate } = headers;
    const again = this.#deps.known.hasMerged(entry.id, structure);
    // while types change only agreeing values come here, and no others are stored
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
      ? await this.#begin(stored, merged, structure, signal)
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

  /** The initial records of a space that exists: the first request with records decides, and only an empty space gets them. */
  async #begin(
    space: RecordSpace,
    merged: Structure,
    { initialData }: Structure,
    signal: AbortSignal,
  ): Promise<string> {
    if (!(await isEmpty(this.#deps.store, space, signal))) return begun;
    const structure = createStructure({ ...merged, initialData });
    return prepareInitialRecords(this.#deps, { ...space, structure }, signal);
  }

  /** Whether a structure that differs from the stored one is left at that: it would only lift rules, once too often. */
  #keepsStrict({ id, structure: stored }: CatalogueEntry, requested: Structure): boolean {
    return (
      this.#returns.reached(id) &&
      agreesOnTypes(stored, requested) &&
      (requested.auth?.active !== true || agreesOnAuth(stored, requested)) &&
      !bringsRules(stored, requested)
    );
  }

  /** Makes a change, with nobody writing meanwhile when it brings rules that stored records must obey. */
  async #whenRulesHold(
    space: RecordSpace,
    after: Structure,
    change: () => Promise<RecordSpace | null>,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> {
    if (!bringsRules(space.stored, after)) return change();
    return this.#deps.known.whileClosed(space.catalogueId, async () => {
      await this.#deps.writes.idle(space.id, idleLimit);
      await checkSwitchedOn(this.#deps.store, { space, after }, signal);
      return change();
    });
  }
}

function bringsRules(before: Structure, after: Structure): boolean {
  return switchedOn(before, after, 'required').length + switchedOn(before, after, 'unique').length > 0;
}
