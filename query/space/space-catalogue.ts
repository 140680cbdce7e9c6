import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { rowLine, timestampText } from '../../common/control/row-values.ts';
import { parseStructure } from '../structure/parse-structure.ts';
import { type Structure, structureText } from '../structure/structure.ts';

/** A row of record_spaces. */
export interface CatalogueEntry {
  readonly id: string;
  readonly ownerId: string;
  readonly projectId: string;
  readonly structure: Structure;
  /** The newest version of a space counts. */
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What is known of record spaces, beside their records. */
export interface SpaceCatalogue {
  find(id: string, signal: AbortSignal): Promise<CatalogueEntry | null>;
  /** Resolves when the entry is durable. */
  store(entry: CatalogueEntry, signal: AbortSignal): Promise<void>;
  idsOfProject(projectId: string, signal: AbortSignal): Promise<readonly string[]>;
}

interface Row {
  owner_id: string;
  project_id: string;
  structure: string;
  version: number;
  created: number;
  updated: number;
}

const columns = [
  'id',
  'owner_id',
  'project_id',
  'project_slug',
  'slug',
  'name',
  'description',
  'structure',
  'created_at',
  'updated_at',
  'version',
];

/** Doubles hold versions and times exactly; 64-bit integers would depend on output settings. */
const selection = `owner_id, project_id, structure, toFloat64(version) AS version,
  toFloat64(toUnixTimestamp64Milli(created_at)) AS created, toFloat64(toUnixTimestamp64Milli(updated_at)) AS updated`;

export function createSpaceCatalogue({ db, database }: { db: Database; database: string }): SpaceCatalogue {
  const table = `${database}.record_spaces`;
  return {
    async find(id, signal) {
      const [row] = await db.rows<Row>(
        `SELECT ${selection} FROM ${table} FINAL WHERE id = ${textLiteral(id)} LIMIT 1`,
        signal,
      );
      if (row === undefined) return null;
      const { structure, problems } = parseStructure(row.structure);
      if (structure === null)
        throw new Error(`the stored structure of ${id} is broken: ${problems.join('; ')}`);
      return {
        id,
        ownerId: row.owner_id,
        projectId: row.project_id,
        structure,
        version: row.version,
        createdAt: new Date(row.created),
        updatedAt: new Date(row.updated),
      };
    },
    async store({ id, ownerId, projectId, structure, version, createdAt, updatedAt }, signal) {
      const values = [
        id,
        ownerId,
        projectId,
        structure.projectSlug,
        structure.slug,
        structure.name,
        structure.description,
        structureText(structure),
        timestampText(createdAt),
        timestampText(updatedAt),
        version,
      ];
      await db.insert(table, columns, rowLine(values), signal);
    },
    async idsOfProject(projectId, signal) {
      const rows = await db.rows<{ id: string }>(
        `SELECT id FROM ${table} FINAL WHERE project_id = ${textLiteral(projectId)} ORDER BY id`,
        signal,
      );
      return rows.map(({ id }) => id);
    },
  };
}
