import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { UnknownOutcome } from '../../common/errors/unknown-outcome.ts';
import { timestampText } from '../../common/metadata/row-values.ts';
import { parseStructure } from '../structure/parse-structure.ts';
import { retiredPart, slotsText, typeChangeOf, withSlots } from '../structure/slots.ts';
import { createStructure, structureText } from '../structure/structure.ts';
import {
  type CatalogueEntry,
  type DroppedSpace,
  droppedVersion,
  type FoundSpace,
  type RetiredSlot,
  recordsIdOf,
} from './space-catalogue.ts';

interface SpaceQuery {
  readonly projectId: string;
  readonly limit: number;
  /** The last slug of the page before. */
  readonly after?: string | undefined;
  /** Part of the slug or of the name, in whatever case. */
  readonly search?: string | undefined;
}

type SpaceIds = Pick<CatalogueEntry, 'id' | 'recordsId'>;

/** In place of the records that a space begins with: it was dropped, and its records may be there still. */
const leftRecords = 'left';

interface Row {
  owner_id: string;
  project_id: string;
  structure: string;
  slots: string;
  rules: string;
  initial_records: string;
  store: number;
  left_records: string;
  version: number;
  created: number;
  updated: number;
}

/** Doubles hold versions and times exactly; 64-bit integers would depend on output settings. */
const selection = `owner_id, project_id, structure, slots, rules, initial_records, store, left_records, toFloat64(version) AS version,
  toFloat64(toUnixTimestamp64Milli(created_at)) AS created, toFloat64(toUnixTimestamp64Milli(updated_at)) AS updated`;

/** A version of a space by column. Half a surrogate pair is nothing that the engine takes; structures have it escaped. */
function valuesOf(entry: CatalogueEntry) {
  const { structure } = entry;
  return {
    id: entry.id,
    owner_id: entry.ownerId,
    project_id: entry.projectId,
    project_slug: structure.projectSlug,
    slug: structure.slug,
    name: (structure.name ?? structure.slug).toWellFormed(),
    description: (structure.description ?? '').toWellFormed(),
    structure: structureText(structure),
    slots: slotsText(structure),
    rules: entry.rules,
    created_at: timestampText(entry.createdAt),
    updated_at: timestampText(entry.updatedAt),
    initial_records: entry.initialRecords,
    store: entry.store,
    left_records: entry.leftRecords,
  };
}

export function catalogueLine(entry: CatalogueEntry): Uint8Array {
  return Buffer.from(`${JSON.stringify({ ...valuesOf(entry), version: entry.version })}\n`);
}

/** Record spaces without their records: the table record_spaces. */
export class TableCatalogue {
  readonly #db: Database;
  readonly #table: string;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#table = `${database}.record_spaces`;
  }

  async find(id: string, signal: AbortSignal): Promise<CatalogueEntry | null> {
    return (await this.findVersioned(id, signal)).entry;
  }

  /**
   * Stores a version that follows the one that was found. Resolves with true when it is durable, and with false when
   * another process was first with that version: then nothing was stored.
   */
  async store(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean> {
    const { id, structure, rules, version } = entry;
    const row = await this.#insert(valuesOf(entry), version, `${id}:${version}`, signal);
    // equal text: this version is stored, by this process or by another
    return (
      row?.version === version &&
      row.structure === structureText(structure) &&
      row.slots === slotsText(structure) &&
      row.rules === rules
    );
  }

  /** Notes that a space is dropped. Resolves with false when it is another one by now: then nothing was stored. */
  async drop(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean> {
    await this.settled(signal);
    const { id, ownerId, projectId, structure, store, version } = entry;
    const dropped = {
      ...{ id, ownerId, projectId, projectSlug: structure.projectSlug, store },
      version: droppedVersion(version),
    };
    const token = `${id}:${dropped.version}`;
    const row = await this.#insert(droppedRow(dropped, leftRecords), dropped.version, token, signal);
    // a move of the space to another store takes the same version
    return row?.version === dropped.version && row.structure === '';
  }

  /** Spaces that were dropped before a time and may have left records. */
  async leftBehind(before: Date, limit: number, signal: AbortSignal): Promise<readonly DroppedSpace[]> {
    return this.#db.rows<DroppedSpace>({
      sql: `SELECT id, owner_id AS ownerId, project_id AS projectId, project_slug AS projectSlug, store,
         toFloat64(version) AS version FROM ${this.#table} FINAL
       WHERE initial_records = '${leftRecords}' AND slug = ''
         AND updated_at < toDateTime64(${textLiteral(timestampText(before))}, 3, 'UTC')
       ORDER BY updated_at LIMIT ${limit}`,
      signal,
    });
  }

  /** Slots of fields that were dropped, of all spaces. */
  async retiredSlots(signal: AbortSignal): Promise<readonly RetiredSlot[]> {
    const rows = await this.#db.rows<{ id: string; version: number; store: number; slots: string }>({
      sql: `SELECT id, toFloat64(version) AS version, store, slots FROM ${this.#table} FINAL
       WHERE slug != '' AND position(slots, ${textLiteral(retiredPart)}) > 0`,
      signal,
    });
    return rows.flatMap(({ slots, ...row }) => {
      // a slot that a change of types has taken may be a field's in a moment
      if (typeChangeOf(slots) !== null) return [];
      const recordsId = recordsIdOf(row);
      return withSlots([], slots).retiredSlots.map((slot) => ({ recordsId, slot }));
    });
  }

  /** Ids of spaces that a move left records of, which ended before a time. */
  async leftByMoves(before: Date, limit: number, signal: AbortSignal): Promise<readonly string[]> {
    const rows = await this.#db.rows<{ id: string }>({
      sql: `SELECT id FROM ${this.#table} FINAL WHERE left_records != ''
         AND updated_at < toDateTime64(${textLiteral(timestampText(before))}, 3, 'UTC') LIMIT ${limit}`,
      signal,
    });
    return rows.map(({ id }) => id);
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

  /** A page of the spaces of a project, by their slugs. */
  async list(query: SpaceQuery, signal: AbortSignal): Promise<readonly CatalogueEntry[]> {
    await this.settled(signal);
    const { projectId, limit, after = '', search } = query;
    const conditions = [`project_id = ${textLiteral(projectId)}`, `slug > ${textLiteral(after)}`];
    if (search !== undefined) {
      const text = textLiteral(search);
      const parts = ['slug', 'name'].map((column) => `positionCaseInsensitiveUTF8(${column}, ${text}) > 0`);
      conditions.push(`(${parts.join(' OR ')})`);
    }
    // structures are long: only those of the page are read
    const ids = `SELECT id FROM ${this.#table} FINAL WHERE ${conditions.join(' AND ')} ORDER BY slug LIMIT ${limit}`;
    const found = await this.#db.rows<{ id: string }>({ sql: ids, signal });
    if (found.length === 0) return [];
    const among = found.map(({ id }) => textLiteral(id)).join(', ');
    const sql = `SELECT id, ${selection} FROM ${this.#table} FINAL WHERE id IN (${among}) AND slug != '' ORDER BY slug`;
    return (await this.#db.rows<Row & { id: string }>({ sql, signal })).map((row) => entryOf(row.id, row));
  }

  /** How many spaces projects of an account have; those without any are not there. */
  async countByProject(
    ownerId: string,
    projectIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    if (projectIds.length === 0) return new Map();
    await this.settled(signal);
    const among = projectIds.map(textLiteral).join(', ');
    const sql = `SELECT project_id AS project, toFloat64(count()) AS spaces FROM ${this.#table} FINAL
       WHERE owner_id = ${textLiteral(ownerId)} AND project_id IN (${among}) AND slug != '' GROUP BY project_id`;
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

  /** Resolves when the table has all versions that were stored before. */
  async settled(_signal: AbortSignal): Promise<void> {}

  async close(): Promise<void> {}

  /** The same as `find`, with the newest version of its row: there is one also when the space was dropped. 0: there never was one. */
  async findVersioned(id: string, signal: AbortSignal): Promise<FoundSpace> {
    const row = await this.#newest(id, signal);
    if (row === null || row.structure === '') return { entry: null, version: row?.version ?? 0 };
    return { entry: entryOf(id, row), version: row.version };
  }

  async #newest(id: string, signal: AbortSignal): Promise<Row | null> {
    const [row] = await this.#db.rows<Row>({
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

  /** Resolves with the newest row when this one is durable, or another with its token or of a later version was first. */
  async #insert(
    values: Readonly<Record<string, string | number>> & { readonly id: string },
    version: number,
    token: string,
    signal: AbortSignal,
  ): Promise<Row | null> {
    // of two processes that store the same version of a space only the first one's row is taken: ClickHouse drops
    // a block whose token it has seen (https://clickhouse.com/docs/guides/developer/deduplicating-inserts-on-retries)
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

function entryOf(id: string, row: Row): CatalogueEntry {
  const { structure, problems } = parseStructure(row.structure);
  if (structure === null) throw new Error(`the stored structure of ${id} is broken: ${problems.join('; ')}`);
  const { fields, retiredSlots } = withSlots(structure.fields, row.slots);
  return {
    id,
    recordsId: recordsIdOf({ ...row, id }),
    store: row.store,
    leftRecords: row.left_records,
    ownerId: row.owner_id,
    projectId: row.project_id,
    structure: createStructure({ ...structure, fields, retiredSlots, typeChange: typeChangeOf(row.slots) }),
    rules: row.rules,
    version: row.version,
    initialRecords: row.initial_records,
    createdAt: new Date(row.created),
    updatedAt: new Date(row.updated),
  };
}

/** Its slug is empty, as no space's is. */
function droppedRow({ id, ownerId, projectId, projectSlug, store }: DroppedSpace, initialRecords: string) {
  const now = timestampText(new Date());
  return {
    ...{ id, owner_id: ownerId, project_id: projectId, project_slug: projectSlug },
    ...{ slug: '', name: '', description: '', structure: '', slots: '', rules: '' },
    ...{ created_at: now, updated_at: now, initial_records: initialRecords, store, left_records: '' },
  };
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : textLiteral(value);
}
