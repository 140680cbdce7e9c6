import { RecordColumns } from '#catalogue/record-columns.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { retiredPart, slotOf, slotsText, typeChangeOf, withSlots } from '#records/structure/slots.ts';
import { structureText } from '#records/structure/structure.ts';
import {
  type CatalogueEntry,
  type DroppedSpace,
  droppedVersion,
  type FoundSpace,
  type RetiredSlot,
  recordsIdOf,
} from './catalogue-entry.ts';
import { type CatalogueRow, droppedRow, entryOf, leftRecords, selection, valuesOf } from './catalogue-row.ts';

interface SpaceQuery {
  readonly projectId: string;
  readonly limit: number;
  /** The last slug of the previous page. */
  readonly after?: string | undefined;
  /** Slugs of the spaces that may be listed; absent: all. */
  readonly slugs?: readonly string[] | undefined;
  /** Part of the slug or of the name; case is ignored. */
  readonly search?: string | undefined;
}

interface ProjectIds {
  readonly ids: readonly string[];
}

/** A page of projects, by slug, that have some of these spaces. Only these spaces are counted. */
interface SpacesOfProjects {
  readonly slugs: readonly string[];
  /** Ids of projects; absent: all. */
  readonly projects?: readonly string[] | undefined;
  readonly limit: number;
  readonly after: string | undefined;
}

type SpaceIds = Pick<CatalogueEntry, 'id' | 'recordsId'>;

/** The table record_spaces: spaces without their records. */
export class TableCatalogue {
  readonly #db: Database;
  readonly #table: string;
  readonly #records: RecordsTable;
  readonly #columns: RecordColumns;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#records = new RecordsTable(db, database);
    this.#columns = new RecordColumns({ db, database });
    this.#table = `${database}.record_spaces`;
  }

  async find(id: string, signal: AbortSignal): Promise<CatalogueEntry | null> {
    return (await this.findVersioned(id, signal)).entry;
  }

  /**
   * Stores the version after the one that was found. Resolves with true when it is durable, and with false if another
   * process stored that version first.
   */
  async store(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean> {
    const { id, structure, rules, version } = entry;
    await this.ensureColumns(entry, signal);
    const row = await this.#insert(valuesOf(entry), version, `${id}:${version}`, signal);
    // equal texts: this version is stored, by this process or by another
    return (
      row?.version === version &&
      row.structure === structureText(structure) &&
      row.slots === slotsText(structure) &&
      row.rules === rules
    );
  }

  /** A structure is stored once the tables of its records have its columns. A move's copy is another table. */
  protected async ensureColumns(entry: CatalogueEntry, signal: AbortSignal): Promise<void> {
    const { recordsId, leftRecords, structure } = entry;
    const slots = [...structure.fields.map(slotOf), ...structure.retiredSlots];
    for (const id of leftRecords === '' ? [recordsId] : [recordsId, leftRecords])
      await this.#columns.ensure(this.#records.homeOf(id), slots, signal);
  }

  /** Marks a space as dropped. Resolves with false if it changed meanwhile: then nothing was stored. */
  async drop(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean> {
    await this.settled(signal);
    const { id, ownerId, projectId, structure, store, version } = entry;
    const { projectSlug } = structure;
    const dropped = { id, ownerId, projectId, projectSlug, store, version: droppedVersion(version) };
    const token = `${id}:${dropped.version}`;
    const row = await this.#insert(droppedRow(dropped, leftRecords), dropped.version, token, signal);
    // a move of the space to another store uses the same version
    return row?.version === dropped.version && row.structure === '';
  }

  /** Spaces that were dropped before a time and may still have records. */
  async leftBehind(before: Date, limit: number, signal: AbortSignal): Promise<readonly DroppedSpace[]> {
    const time = `toDateTime64(${textLiteral(timestampText(before))}, 3, 'UTC')`;
    const which = `initial_records = '${leftRecords}' AND updated_at < ${time}`;
    return this.#dropped(which, `ORDER BY updated_at LIMIT ${limit}`, signal);
  }

  #dropped(which: string, tail: string, signal: AbortSignal): Promise<readonly DroppedSpace[]> {
    return this.#db.rows<DroppedSpace>({
      sql: `SELECT id, owner_id AS ownerId, project_id AS projectId, project_slug AS projectSlug, store,
         toFloat64(version) AS version FROM ${this.#table} FINAL WHERE slug = '' AND ${which} ${tail}`,
      signal,
    });
  }

  /** Slots of dropped fields of all spaces. */
  async retiredSlots(signal: AbortSignal): Promise<readonly RetiredSlot[]> {
    const rows = await this.#db.rows<{ id: string; version: number; store: number; slots: string }>({
      sql: `SELECT id, toFloat64(version) AS version, store, slots FROM ${this.#table} FINAL
       WHERE slug != '' AND position(slots, ${textLiteral(retiredPart)}) > 0`,
      signal,
    });
    return rows.flatMap(({ slots, ...row }) => {
      // a slot that a type change reserved may soon belong to a field
      if (typeChangeOf(slots) !== null) return [];
      const recordsId = recordsIdOf(row);
      return withSlots([], slots).retiredSlots.map((slot) => ({ recordsId, slot }));
    });
  }

  /** Ids of spaces of which a move that ended before a time left records. */
  async leftByMoves(before: Date, limit: number, signal: AbortSignal): Promise<readonly string[]> {
    const rows = await this.#db.rows<{ id: string }>({
      sql: `SELECT id FROM ${this.#table} FINAL WHERE left_records != ''
         AND updated_at < toDateTime64(${textLiteral(timestampText(before))}, 3, 'UTC') LIMIT ${limit}`,
      signal,
    });
    return rows.map(({ id }) => id);
  }

  /** The spaces of an account that were dropped: their rows are left, and perhaps their records. */
  async droppedOf(ownerId: string, signal: AbortSignal): Promise<readonly DroppedSpace[]> {
    await this.settled(signal);
    return this.#dropped(`owner_id = ${textLiteral(ownerId)}`, '', signal);
  }

  /** Removes the rows of a deleted account, whose spaces are dropped. */
  async removeOwner(ownerId: string, signal: AbortSignal): Promise<void> {
    await this.settled(signal);
    const sql = `DELETE FROM ${this.#table} WHERE owner_id = ${textLiteral(ownerId)}`;
    await this.#db.command({ sql, signal });
  }

  async swept(dropped: DroppedSpace, signal: AbortSignal): Promise<void> {
    const token = `${dropped.id}:${dropped.version}:swept`;
    await this.#insert(droppedRow(dropped, ''), dropped.version, token, signal);
  }

  idsOfProject(projectId: string, signal: AbortSignal): Promise<readonly SpaceIds[]> {
    return this.#idsWhere(`project_id = ${textLiteral(projectId)}`, signal);
  }

  idsOfOwner(ownerId: string, signal: AbortSignal): Promise<readonly SpaceIds[]> {
    return this.#idsWhere(`owner_id = ${textLiteral(ownerId)}`, signal);
  }

  /** A page of the spaces of a project, by slug. */
  async list(query: SpaceQuery, signal: AbortSignal): Promise<readonly CatalogueEntry[]> {
    await this.settled(signal);
    const { projectId, limit, after = '', slugs, search } = query;
    const conditions = [`project_id = ${textLiteral(projectId)}`, `slug > ${textLiteral(after)}`];
    if (slugs !== undefined) conditions.push(`slug IN (${listed(slugs)})`);
    if (search !== undefined) {
      const text = textLiteral(search);
      const parts = ['slug', 'name'].map((column) => `positionCaseInsensitiveUTF8(${column}, ${text}) > 0`);
      conditions.push(`(${parts.join(' OR ')})`);
    }
    // structures are long: only those of the page are read
    const ids = `SELECT id FROM ${this.#table} FINAL WHERE ${conditions.join(' AND ')} ORDER BY slug LIMIT ${limit}`;
    const found = await this.#db.rows<{ id: string }>({ sql: ids, signal });
    if (found.length === 0) return [];
    const among = listed(found.map(({ id }) => id));
    const sql = `SELECT id, ${selection} FROM ${this.#table} FINAL WHERE id IN (${among}) AND slug != '' ORDER BY slug`;
    return (await this.#db.rows<CatalogueRow & { id: string }>({ sql, signal })).map((row) =>
      entryOf(row.id, row),
    );
  }

  /** The number of spaces of an account's projects, by project id; projects without spaces are missing. */
  async countByProject(
    ownerId: string,
    of: ProjectIds | SpacesOfProjects,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    if ('ids' in of && of.ids.length === 0) return new Map();
    await this.settled(signal);
    const projects = 'ids' in of ? undefined : of.projects;
    const inProjects = projects === undefined ? '' : ` AND project_id IN (${listed(projects)})`;
    const [among, limit] =
      'ids' in of
        ? [`project_id IN (${listed(of.ids)})`, of.ids.length]
        : [
            `slug IN (${listed(of.slugs)}) AND project_slug > ${textLiteral(of.after ?? '')}${inProjects}`,
            of.limit,
          ];
    const sql = `SELECT project_id AS project, toFloat64(count()) AS spaces FROM ${this.#table} FINAL
       WHERE owner_id = ${textLiteral(ownerId)} AND ${among} AND slug != ''
       GROUP BY project_id, project_slug ORDER BY project_slug LIMIT ${limit}`;
    const rows = await this.#db.rows<{ project: string; spaces: number }>({ sql, signal });
    return new Map(rows.map(({ project, spaces }) => [project, spaces]));
  }

  async countOfOwner(ownerId: string, signal: AbortSignal): Promise<number> {
    await this.settled(signal);
    const sql = `SELECT toFloat64(count()) AS spaces FROM ${this.#table} FINAL
       WHERE owner_id = ${textLiteral(ownerId)} AND slug != ''`;
    const [row] = await this.#db.rows<{ spaces: number }>({ sql, signal });
    return row?.spaces ?? 0;
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    return (await this.#db.rows({ sql: `SELECT 1 FROM ${this.#table} LIMIT 1`, signal })).length === 0;
  }

  /** Resolves when the table has all versions stored so far. */
  async settled(_signal: AbortSignal): Promise<void> {}

  async close(): Promise<void> {}

  /** Like `find`, with the version of the newest row, which a dropped space has as well. 0: there never was a row. */
  async findVersioned(id: string, signal: AbortSignal): Promise<FoundSpace> {
    const row = await this.#newest(id, signal);
    if (row === null || row.structure === '') return { entry: null, version: row?.version ?? 0 };
    return { entry: entryOf(id, row), version: row.version };
  }

  async #newest(id: string, signal: AbortSignal): Promise<CatalogueRow | null> {
    const [row] = await this.#db.rows<CatalogueRow>({
      sql: `SELECT ${selection} FROM ${this.#table} FINAL WHERE id = ${textLiteral(id)} LIMIT 1`,
      signal,
    });
    return row ?? null;
  }

  async #idsWhere(condition: string, signal: AbortSignal): Promise<readonly SpaceIds[]> {
    await this.settled(signal);
    const rows = await this.#db.rows<{ id: string; version: number; store: number }>({
      sql: `SELECT id, toFloat64(version) AS version, store FROM ${this.#table} FINAL
         WHERE ${condition} AND slug != '' ORDER BY id`,
      signal,
    });
    return rows.map((row) => ({ id: row.id, recordsId: recordsIdOf(row) }));
  }

  /** Resolves with the newest row once this row is durable, or another one with its token or a later version was first. */
  async #insert(
    values: Readonly<Record<string, string | number>> & { readonly id: string },
    version: number,
    token: string,
    signal: AbortSignal,
  ): Promise<CatalogueRow | null> {
    // if two processes store the same version of a space, only the first row is stored: ClickHouse drops a block whose
    // token it has seen (https://clickhouse.com/docs/guides/developer/deduplicating-inserts-on-retries)
    const sql = `INSERT INTO ${this.#table} (${Object.keys(values).join(', ')}, version)
       SETTINGS insert_deduplicate = 1, insert_deduplication_token = ${textLiteral(token)}
       VALUES (${Object.values(values).map(literal).join(', ')}, ${version})`;
    let unknown: UnknownOutcome | null = null;
    await this.#db.command({ sql, signal }).catch((error: unknown) => {
      if (!(error instanceof UnknownOutcome)) throw error;
      unknown = error;
    });
    const row = await this.#newest(values.id, signal);
    if (unknown !== null && (row === null || row.version < version)) throw unknown;
    return row;
  }
}

function listed(texts: readonly string[]): string {
  return texts.map(textLiteral).join(', ');
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : textLiteral(value);
}
