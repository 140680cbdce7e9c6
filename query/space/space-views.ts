import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { spaceViewSql } from '#records/sql/space-view-sql.ts';
import type { TableCatalogue } from './table-catalogue.ts';

/** Which spaces the command sql-views makes views of: those of an account, of a project, or all. */
export interface ViewsOrder {
  readonly email?: string;
  readonly project?: string;
}

/** Characters of a view's name before the id. */
const longestWords = 100;

/** Milliseconds for the catalogue, and for each view. */
const timeout = 30_000;

/**
 * Makes or replaces a readable view of each space in the database `<database>_views`. Returns a line for each view: its
 * name, the account and the space.
 */
export async function makeSpaceViews(
  services: { readonly db: Database; readonly database: string; readonly catalogue: TableCatalogue },
  order: ViewsOrder,
): Promise<string> {
  const { db, database, catalogue } = services;
  const table = new RecordsTable(db, database);
  await catalogue.settled(AbortSignal.timeout(timeout));
  const spaces = await db.rows<{ id: string; email: string }>({ sql: spacesSql(database, order) });
  if (spaces.length === 0) throw new CommandError('there is no such record space');
  const lines: string[] = [];
  /** Stores that have the database for views. */
  const stores = new Set<number>();
  for (const { id, email } of spaces) {
    const signal = AbortSignal.timeout(timeout);
    const entry = await catalogue.find(id, signal);
    if (entry === null) continue;
    const { projectSlug, slug, fields } = entry.structure;
    const view = `${database}_views.${viewName(projectSlug, slug, id)}`;
    const place = `${email} ${projectSlug}/${slug}`;
    const select = spaceViewSql(table, entry.recordsId, fields);
    const sql = `CREATE OR REPLACE VIEW ${view} AS ${select} COMMENT ${textLiteral(place)}`;
    const home = table.homeOf(entry.recordsId);
    if (!stores.has(entry.store)) {
      const sql = `CREATE DATABASE IF NOT EXISTS ${database}_views`;
      await db.command({ sql, signal, home, onEach: true });
      stores.add(entry.store);
    }
    await db.command({ sql, signal, home, onEach: true });
    lines.push(`${view}  ${place}`);
  }
  return lines.join('\n');
}

function spacesSql(database: string, { email, project }: ViewsOrder): string {
  const conditions: string[] = [];
  if (email !== undefined) conditions.push(`u.email = ${textLiteral(email.toLowerCase())}`);
  if (project !== undefined) conditions.push(`s.project_slug = ${textLiteral(project)}`);
  return `SELECT DISTINCT s.id AS id, u.email AS email
    FROM ${database}.record_spaces AS s INNER JOIN ${database}.users AS u ON u.id = s.owner_id
    ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`} ORDER BY email, s.project_slug, s.slug`;
}

/** Needs no quotes. */
function viewName(projectSlug: string, slug: string, id: string): string {
  // the slug is any text; the id tells the views apart
  const words = `${projectSlug}_${slug}`.replace(/[^A-Za-z0-9_]/g, '_').slice(0, longestWords);
  return `${words}_${id.slice(-12)}`;
}
