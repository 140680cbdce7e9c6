import { LRUCache } from 'lru-cache';
import type { Database } from '../clickhouse/database.ts';
import { textLiteral } from '../clickhouse/literal.ts';
import { tooManyProjects } from '../errors/catalogue.ts';
import { CountLimit } from '../limits/count-limit.ts';
import { upTo } from '../limits/up-to.ts';
import type { Invalidation, StreamPosition } from '../redis/invalidation.ts';
import { rowLine, timestampText } from './row-values.ts';
import { uuidV5 } from './uuid-v5.ts';

/** A user's project. Its slug is unique among its owner's, so the id follows from both. */
export interface Project {
  readonly id: string;
  readonly ownerId: string;
  readonly slug: string;
}

export interface ListedProject extends Project {
  readonly createdAt: Date;
}

/** Whether a project has files. */
export type HasFiles = (project: Project, signal: AbortSignal) => Promise<boolean>;

export interface Projects {
  find(ownerId: string, slug: string, signal: AbortSignal): Promise<Project | null>;
  /**
   * Finds the project, or makes it. Two processes that do so at once make the same one. Throws a 403 when its owner has
   * too many.
   */
  ensure(ownerId: string, slug: string, signal: AbortSignal): Promise<Project>;
  /** A page of the projects of an account, by their slugs. @param query.after the last slug of the page before */
  list(
    ownerId: string,
    query: { readonly limit: number; readonly after?: string | undefined },
    signal: AbortSignal,
  ): Promise<readonly ListedProject[]>;
  /** Removes a project that is empty. Other processes may take it for there as long as they trust what they know. */
  remove(project: Project, signal: AbortSignal): Promise<void>;
  /** Whether the project has files, as the table of files says, or who keeps their rows elsewhere first. */
  hasFiles: HasFiles;
  /** Called once by a service that keeps rows of files in a log before the table has them. */
  askForFiles(hasFiles: HasFiles): void;
}

interface Known {
  readonly project: Project;
  readonly began: number;
  readonly position: StreamPosition | null;
}

const cachedProjects = 10_000;
/** How long a project is known without another look where nobody tells of its removal. Milliseconds. */
const usualTime = 5_000;
/** The same where others tell: shorter than what they told is remembered (redis-invalidation.ts). */
const heardFor = 60_000;

/**
 * @param args.maxProjects that an account may have; absent: any number
 * @param args.alone whether no other process removes projects
 * @param args.knownFor milliseconds for which what was seen counts where others do, and nobody tells of it
 */
export function createProjects(args: {
  db: Database;
  database: string;
  maxProjects?: number;
  alone?: boolean;
  knownFor?: number;
  invalidation?: Invalidation | undefined;
}): Projects {
  const { db, database, maxProjects = Number.POSITIVE_INFINITY, alone = true, invalidation } = args;
  const { knownFor = usualTime } = args;
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
  const known = new LRUCache<string, Known>({ ...upTo(cachedProjects) });
  /** A look that began before a removal may end after it. */
  let removals = 0;
  let hasFiles: HasFiles = async ({ ownerId, slug }, signal) => {
    const sql = `SELECT 1 FROM ${database}.cloud_files
      WHERE owner_id = ${textLiteral(ownerId)} AND project_slug = ${textLiteral(slug)} LIMIT 1`;
    return (await db.rows({ sql, signal, home: 'cloud_files' })).length > 0;
  };

  const look = (): Omit<Known, 'project'> => ({
    began: performance.now(),
    position: invalidation?.position() ?? null,
  });

  const isGood = ({ project, began, position }: Known): boolean => {
    if (alone) return true;
    const age = performance.now() - began;
    if (invalidation === undefined) return age <= knownFor;
    return age <= heardFor && invalidation.isCurrent() && !invalidation.changedSince(project.id, position);
  };

  const find: Projects['find'] = async (ownerId, slug, signal) => {
    const key = cacheKey(ownerId, slug);
    const cached = known.get(key);
    if (cached !== undefined && isGood(cached)) return cached.project;
    const id = uuidV5(ownerId, slug);
    const looked = look();
    const before = removals;
    const rows = await db.rows({
      sql: `SELECT id FROM ${table} WHERE id = ${textLiteral(id)} LIMIT 1`,
      signal,
    });
    if (rows.length === 0) return null;
    const project = { id, ownerId, slug };
    if (removals === before) known.set(key, { project, ...looked });
    return project;
  };

  return {
    find,
    async ensure(ownerId, slug, signal) {
      const found = await find(ownerId, slug, signal);
      if (found !== null) return found;
      if (maxProjects < Number.POSITIVE_INFINITY) await limit.admit(ownerId, signal);
      const project = { id: uuidV5(ownerId, slug), ownerId, slug };
      const looked = look();
      const before = removals;
      await db.insert({
        table,
        columns: ['id', 'owner_id', 'slug', 'created_at', 'version'],
        lines: rowLine([project.id, ownerId, slug, timestampText(new Date()), 0]),
        signal,
      });
      if (removals === before) known.set(cacheKey(ownerId, slug), { project, ...looked });
      return project;
    },
    async list(ownerId, { limit: most, after = '' }, signal) {
      const rows = await db.rows<{ id: string; slug: string; created: number }>({
        sql: `SELECT id, slug, toFloat64(toUnixTimestamp64Milli(min(created_at))) AS created FROM ${table}
         WHERE owner_id = ${textLiteral(ownerId)} AND slug > ${textLiteral(after)}
         GROUP BY id, slug ORDER BY slug LIMIT ${most}`,
        signal,
      });
      return rows.map(({ id, slug, created }) => ({ id, ownerId, slug, createdAt: new Date(created) }));
    },
    async remove({ id, ownerId, slug }, signal) {
      await db.command({ sql: `DELETE FROM ${table} WHERE id = ${textLiteral(id)}`, signal });
      removals++;
      known.delete(cacheKey(ownerId, slug));
      limit.removed(ownerId);
      await invalidation?.publish(id);
    },
    hasFiles: (project, signal) => hasFiles(project, signal),
    askForFiles(ask) {
      hasFiles = ask;
    },
  };
}

/** Cheaper than the id. A slug has no slash. */
function cacheKey(ownerId: string, slug: string): string {
  return `${ownerId}/${slug}`;
}
