import type { ReadMoment } from '#coordination/redis/freshness.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { hasFiles } from '#records/file-fields.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { slotOf } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { typeEntry } from '#records/types/field-types.ts';
import { type CatalogueEntry, type RetiredSlot, storedSpace } from './catalogue-entry.ts';
import { begun, mustBeStored, storeInitialRecords } from './initial-records.ts';
import type { KnownSpaces } from './known-spaces.ts';
import type { SpacesParts } from './spaces-deps.ts';

interface CatalogueVersionsParts
  extends Pick<SpacesParts, 'store' | 'catalogue' | 'invalidation' | 'freshness'> {
  /** Absent: nothing is answered. */
  readonly fileLinks?: SpacesParts['fileLinks'];
  readonly known: KnownSpaces;
}

/** After losing to other processes this often, something is wrong. */
export const attempts = 20;

/**
 * Reads and writes versions of spaces in the catalogue. It announces stored versions to other processes, and caches the
 * versions that it reads. The caller runs one call at a time for each space.
 */
export class CatalogueVersions {
  readonly #deps: CatalogueVersionsParts;

  constructor(deps: CatalogueVersionsParts) {
    this.#deps = deps;
  }

  /** Caches a version. Any request that finds the initial records missing stores them, before the space is used. */
  async remember(found: CatalogueEntry, read: ReadMoment, signal: AbortSignal): Promise<RecordSpace> {
    let entry = found;
    const space = storedSpace(linked(entry, this.#deps.fileLinks));
    if (mustBeStored(entry.initialRecords) && this.#deps.known.versionOf(entry.id) !== entry.version) {
      const { store } = this.#deps;
      await store.rewrite(space.id, () => storeInitialRecords(store, space, found.initialRecords, signal));
      const after = { ...entry, version: entry.version + 1, initialRecords: begun };
      if (await this.#deps.catalogue.store(after, signal)) entry = after;
    }
    return this.#deps.known.remember(space, entry.version, read);
  }

  /** Stores the next version; null if another process was first. */
  async store(entry: CatalogueEntry, signal: AbortSignal): Promise<RecordSpace | null> {
    const read = this.#deps.known.begin();
    const next = await this.#withKeys(entry, signal);
    if (!(await this.#deps.catalogue.store(next, signal))) return null;
    await this.announce(entry);
    return this.remember(next, read, signal);
  }

  /** Reads a space from the catalogue into the cache; null if it does not exist. */
  async read(id: string, signal: AbortSignal): Promise<RecordSpace | null> {
    const read = this.#deps.known.begin();
    const entry = await this.#deps.catalogue.find(id, signal);
    if (entry === null) {
      this.#deps.known.forget(id);
      return null;
    }
    const known = await this.remember(entry, read, signal);
    const keyed = await this.#withKeys(entry, signal);
    if (keyed === entry) return known;
    return (await this.store({ ...keyed, version: entry.version + 1 }, signal)) ?? known;
  }

  /** Drops a space from the catalogue; the caller announces it. Null: it does not exist. */
  async drop(id: string, signal: AbortSignal): Promise<CatalogueEntry | null> {
    const { catalogue, known } = this.#deps;
    const found = await catalogue.find(id, signal);
    for (let entry = found; entry !== null; entry = await catalogue.find(id, signal)) {
      // somebody else dropped this space and made another one. A space that moved keeps its time
      if (entry.createdAt.getTime() !== found?.createdAt.getTime()) break;
      if (await catalogue.drop(entry, signal)) break;
    }
    known.forget(id);
    return found;
  }

  /** Drops a field of the stored structure. Null: the space or the field does not exist. */
  async dropField(id: string, name: string, signal: AbortSignal): Promise<RetiredSlot | null> {
    let dropped: RetiredSlot | null = null;
    const without = ({ recordsId, structure }: CatalogueEntry): Structure | null => {
      const field = structure.lookup.get(name);
      if (field === undefined) return null;
      const slot = slotOf(field);
      dropped = { recordsId, slot };
      return createStructure({
        ...structure,
        fields: structure.fields.filter((other) => other !== field),
        retiredSlots: [...structure.retiredSlots, slot],
      });
    };
    return (await this.edit(id, without, signal)) ? dropped : null;
  }

  /** Applies `change` to the newest version and stores the result, unless it is null. False: nothing was stored. */
  edit(
    id: string,
    change: (entry: CatalogueEntry) => Structure | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    const structureOf = (entry: CatalogueEntry): { structure: Structure } | null => {
      const structure = change(entry);
      return structure && { structure };
    };
    return this.#edit(id, structureOf, signal);
  }

  /** @param rules of the newest structure, as JSON; null: nothing is to be stored */
  editRules(
    id: string,
    rules: (entry: CatalogueEntry) => string | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    const change = (entry: CatalogueEntry): { rules: string } | null => {
      const text = rules(entry);
      return text === null ? null : { rules: text };
    };
    return this.#edit(id, change, signal);
  }

  async #edit(
    id: string,
    change: (entry: CatalogueEntry) => Partial<Pick<CatalogueEntry, 'structure' | 'rules'>> | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const entry = await this.#deps.catalogue.find(id, signal);
      const changed = entry === null ? null : change(entry);
      if (entry === null || changed === null) return false;
      // from now on, every use reads the catalogue
      this.#deps.known.forget(id);
      const next = { ...entry, ...changed, version: entry.version + 1, updatedAt: new Date() };
      if ((await this.store(next, signal)) !== null) return true;
    }
    throw overloaded('too many requests change the structure of the record space');
  }

  /** Invalidates a space in other processes and in caches. */
  async announce({ id, recordsId }: CatalogueEntry): Promise<void> {
    const { invalidation, store } = this.#deps;
    await Promise.all([invalidation.publish(id), store.invalidate(recordsId)]);
  }

  /**
   * Writes missing keys for the stored values of unique fields. Does nothing while other processes may still write by a
   * structure in which a field was not unique: such values would have no keys.
   */
  async #withKeys(entry: CatalogueEntry, signal: AbortSignal): Promise<CatalogueEntry> {
    const { store, freshness } = this.#deps;
    const lacking = entry.structure.fields.filter(({ unique, keyed }) => unique && !keyed);
    const isNew = Date.now() - entry.updatedAt.getTime() < freshness.others.outdatedAfter;
    if (lacking.length === 0 || isNew) return entry;
    for (const field of lacking) await addKeys(store, entry.recordsId, slotOf(field), signal);
    const fields = entry.structure.fields.map((field) =>
      lacking.includes(field) ? { ...field, keyed: true } : field,
    );
    return { ...entry, structure: createStructure({ ...entry.structure, fields }) };
  }
}

/**
 * Writes keys for all stored values of a slot. This needs no `rewrite`: no record changes, and a key only says that a
 * record may have the value. Concurrent writes write their own keys, or are within the same `rewrite`.
 */
export async function addKeys(
  { db, table, keys }: RecordStore,
  recordsId: string,
  slot: string,
  signal: AbortSignal,
): Promise<void> {
  await db.command({ ...table.addKeys(recordsId, slot), signal });
  await keys.addRows(table.allKeys(recordsId));
}

/** The entry with the base of the addresses of its files. */
function linked(entry: CatalogueEntry, fileLinks: SpacesParts['fileLinks'] | undefined): CatalogueEntry {
  const { ownerId, structure } = entry;
  if (fileLinks === undefined || !hasFiles(structure)) return entry;
  const links = fileLinks({ ownerId, projectSlug: structure.projectSlug });
  const fields = structure.fields.map((field) =>
    typeEntry(field.type).files === undefined ? field : { ...field, links },
  );
  return { ...entry, structure: createStructure({ ...structure, fields }) };
}
