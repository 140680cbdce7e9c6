import { LRUCache } from 'lru-cache';
import type { Database } from '../clickhouse/database.ts';
import { textLiteral } from '../clickhouse/literal.ts';
import { tooManyProjects } from '../errors/catalogue.ts';
import { CountLimit } from '../limits/count-limit.ts';
import { rowLine, timestampText } from './row-values.ts';
import { uuidV5 } from './uuid-v5.ts';

/** A user's project. Its slug is unique among its owner's, so the id follows from both. */
export interface Project {
  readonly id: string;
  readonly ownerId: string;
  readonly slug: string;
}

export interface Projects {
  find(ownerId: string, slug: string, signal: AbortSignal): Promise<Project | null>;
  /**
   * Finds the project, or makes it. Two processes that do so at once make the same one. Throws a 403 when its owner has
   * too many.
   */
  ensure(ownerId: string, slug: string, signal: AbortSignal): Promise<Project>;
}

const cachedProjects = 10_000;

/** @param args.maxProjects that an account may have; absent: any number */
export function createProjects(args: { db: Database; database: string; maxProjects?: number }): Projects {
  const { db, database, maxProjects = Number.POSITIVE_INFINITY } = args;
  const table = `${database}.projects`;
  const limit = new CountLimit({
    limit: maxProjects,
    async count(ownerId, signal) {
      const sql = `SELECT toFloat64(uniqExact(id)) AS projects FROM ${table} WHERE owner_id = ${textLiteral(ownerId)}`;
      const [row] = await db.rows<{ projects: number }>({ sql, signal });
      return row?.projects ?? 0;
    },
    full: tooManyProjects,
  });
  const known = new LRUCache<string, Project>({ max: cachedProjects });

  const find: Projects['find'] = async (ownerId, slug, signal) => {
    const key = cacheKey(ownerId, slug);
    const cached = known.get(key);
    if (cached !== undefined) return cached;
    const id = uuidV5(ownerId, slug);
    const rows = await db.rows({
      sql: `SELECT id FROM ${table} WHERE id = ${textLiteral(id)} LIMIT 1`,
      signal,
    });
    if (rows.length === 0) return null;
    const project = { id, ownerId, slug };
    known.set(key, project);
    return project;
  };

  return {
    find,
    async ensure(ownerId, slug, signal) {
      const found = await find(ownerId, slug, signal);
      if (found !== null) return found;
      if (maxProjects < Number.POSITIVE_INFINITY) await limit.admit(ownerId, signal);
      const project = { id: uuidV5(ownerId, slug), ownerId, slug };
      await db.insert({
        table,
        columns: ['id', 'owner_id', 'slug', 'created_at', 'version'],
        lines: rowLine([project.id, ownerId, slug, timestampText(new Date()), 0]),
        signal,
      });
      known.set(cacheKey(ownerId, slug), project);
      return project;
    },
  };
}

/** Cheaper than the id. A slug has no slash. */
function cacheKey(ownerId: string, slug: string): string {
  return `${ownerId}/${slug}`;
}
