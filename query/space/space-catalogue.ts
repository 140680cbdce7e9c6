import type { Database, InsertStatement } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { UnknownOutcome } from '../../common/clickhouse/unknown-outcome.ts';
import { rowLine, timestampText } from '../../common/metadata/row-values.ts';
import { parseStructure } from '../structure/parse-structure.ts';
import { slotsText, withSlots } from '../structure/slots.ts';
import { createStructure, type Structure, structureText } from '../structure/structure.ts';

/** A row of record_spaces. */
export interface CatalogueEntry {
  readonly id: string;
  readonly ownerId: string;
  readonly projectId: string;
  /** Every field has its slot. */
  readonly structure: Structure;
  /** The newest version of a space counts. */
  readonly version: number;
  /** What the space begins with, as text, until it is stored; empty when nobody named any (initial-records.ts). */
  readonly initialRecords: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What is known of record spaces, beside their records. */
export interface SpaceCatalogue {
  find(id: string, signal: AbortSignal): Promise<CatalogueEntry | null>;
  /**
   * Stores a version that follows the one that was found. Resolves with true when it is durable, and with false when
   * another process was first with that version: then nothing was stored.
   */
  store(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean>;
  idsOfProject(projectId: string, signal: AbortSignal): Promise<readonly string[]>;
  countOfOwner(ownerId: string, signal: AbortSignal): Promise<number>;
  /** There never was a record space. */
  isEmpty(signal: AbortSignal): Promise<boolean>;
  /** Resolves when the table has what was stored before: for who reads it by a statement of their own. */
  settled(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Row {
  owner_id: string;
  project_id: string;
  structure: string;
  slots: string;
  initial_records: string;
  version: number;
  created: number;
  updated: number;
}

/** Doubles hold versions and times exactly; 64-bit integers would depend on output settings. */
const selection = `owner_id, project_id, structure, slots, initial_records, toFloat64(version) AS version,
  toFloat64(toUnixTimestamp64Milli(created_at)) AS created, toFloat64(toUnixTimestamp64Milli(updated_at)) AS updated`;

const columns = [
  'id',
  'owner_id',
  'project_id',
  'project_slug',
  'slug',
  'name',
  'description',
  'structure',
  'slots',
  'created_at',
  'updated_at',
  'initial_records',
  'version',
];

/** In the order of `columns`. Half a surrogate pair is nothing that the engine takes; structures have it escaped. */
function valuesOf(entry: CatalogueEntry): readonly (string | number)[] {
  const { structure } = entry;
  return [
    entry.id,
    entry.ownerId,
    entry.projectId,
    structure.projectSlug,
    structure.slug,
    structure.name.toWellFormed(),
    structure.description.toWellFormed(),
    structureText(structure),
    slotsText(structure.fields),
    timestampText(entry.createdAt),
    timestampText(entry.updatedAt),
    entry.initialRecords,
    entry.version,
  ];
}

/** A version of a space as a line for `catalogueRows`. */
export function catalogueLine(entry: CatalogueEntry): Uint8Array {
  return rowLine(valuesOf(entry));
}

/** Where such lines are inserted. */
export function catalogueRows(database: string): Pick<InsertStatement, 'table' | 'columns'> {
  return { table: `${database}.record_spaces`, columns };
}

export function createSpaceCatalogue({ db, database }: { db: Database; database: string }): SpaceCatalogue {
  const table = `${database}.record_spaces`;

  const newest = async (id: string, signal: AbortSignal): Promise<Row | null> => {
    const [row] = await db.rows<Row>({
      sql: `SELECT ${selection} FROM ${table} FINAL WHERE id = ${textLiteral(id)} LIMIT 1`,
      signal,
    });
    return row ?? null;
  };

  return {
    async find(id, signal) {
      const row = await newest(id, signal);
      if (row === null) return null;
      const { structure, problems } = parseStructure(row.structure);
      if (structure === null)
        throw new Error(`the stored structure of ${id} is broken: ${problems.join('; ')}`);
      return {
        id,
        ownerId: row.owner_id,
        projectId: row.project_id,
        structure: createStructure({ ...structure, fields: withSlots(structure.fields, row.slots) }),
        version: row.version,
        initialRecords: row.initial_records,
        createdAt: new Date(row.created),
        updatedAt: new Date(row.updated),
      };
    },
    async store(entry, signal) {
      const { id, structure, version } = entry;
      const values = valuesOf(entry);
      // of two processes that store the same version of a space only the first one's row is taken: ClickHouse drops
      // a block whose token it has seen (https://clickhouse.com/docs/guides/developer/deduplicating-inserts-on-retries)
      const sql = `INSERT INTO ${table} (${columns.join(', ')})
         SETTINGS insert_deduplicate = 1, insert_deduplication_token = ${textLiteral(`${id}:${version}`)}
         VALUES (${values.map((value) => (typeof value === 'number' ? value : textLiteral(value))).join(', ')})`;
      const unknown = await db.command({ sql, signal }).then(
        () => null,
        (error: unknown) => {
          if (error instanceof UnknownOutcome) return error;
          throw error;
        },
      );
      const row = await newest(id, signal);
      if (unknown !== null && (row === null || row.version < version)) throw unknown;
      // equal text: whoever stored it, it is what was to be stored
      return (
        row?.version === version &&
        row.structure === structureText(structure) &&
        row.slots === slotsText(structure.fields)
      );
    },
    async idsOfProject(projectId, signal) {
      const rows = await db.rows<{ id: string }>({
        sql: `SELECT id FROM ${table} FINAL WHERE project_id = ${textLiteral(projectId)} ORDER BY id`,
        signal,
      });
      return rows.map(({ id }) => id);
    },
    async countOfOwner(ownerId, signal) {
      const sql = `SELECT toFloat64(uniqExact(id)) AS spaces FROM ${table} WHERE owner_id = ${textLiteral(ownerId)}`;
      const [row] = await db.rows<{ spaces: number }>({ sql, signal });
      return row?.spaces ?? 0;
    },
    async isEmpty(signal) {
      return (await db.rows({ sql: `SELECT 1 FROM ${table} LIMIT 1`, signal })).length === 0;
    },
    settled: async () => {},
    close: async () => {},
  };
}
