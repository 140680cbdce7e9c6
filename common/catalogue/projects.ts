import { LRUCache } from 'lru-cache';
import { Freshness, type ReadMoment } from '#coordination/redis/freshness.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { tooManyProjects } from '#kernel/errors/catalogue.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { AccountQuota } from '#kernel/limits/account-quota.ts';
import type { FileRules } from './file-rules/file-rules.ts';
import { type ProjectFiles, TableFiles } from './project-files.ts';

/** A user's project. Its slug is unique for its owner, so the id is derived from both. */
export interface Project {
  readonly id: string;
  readonly ownerId: string;
  readonly slug: string;
  /** Absent: it has none, and requests that rules bind get no files. */
  readonly fileRules?: FileRules;
  /** Its own sizes of pictures; absent: it has none. */
  readonly imagePresets?: readonly ImagePreset[];
}

export interface ListedProject extends Project {
  readonly createdAt: Date;
}

interface ProjectRow {
  /** JSON; empty: none. */
  readonly rules: string;
  readonly presets: string;
  readonly version: number;
  readonly created: number;
}

interface CachedProject {
  readonly project: Project;
  /** In memory. */
  readonly bytes: number;
  readonly read: ReadMoment;
}

/** Bytes of all cached projects: ten thousand without rules of files, which take many times as much. */
const cachedBytes = 32 * 1024 * 1024;
const bytesOfProject = 3000;
/** Of rules as JSON. */
const bytesOfCharacter = 8;
/** How long a project is cached when removals are not announced. Milliseconds. */
const usualTime = 5_000;
/** How long when they are announced: less than announcements are remembered (redis-invalidation.ts). */
const announcedFor = 60_000;
const columns = ['id', 'owner_id', 'slug', 'created_at', 'version'];

export class Projects {
  readonly #db: Database;
  readonly #table: string;
  readonly #limit: AccountQuota | null;
  readonly #known = new LRUCache<string, CachedProject>({
    maxSize: cachedBytes,
    sizeCalculation: ({ bytes }) => bytes,
  });
  readonly #freshness: Freshness;
  #files: ProjectFiles;

  /**
   * @param args.maxProjects most projects of an account; absent: no limit
   * @param args.alone whether no other process removes projects
   * @param args.knownFor milliseconds for which a project is cached when other processes may remove it unannounced
   */
  constructor(args: {
    readonly db: Database;
    readonly database: string;
    readonly maxProjects?: number;
    readonly singleWriter?: boolean;
    readonly knownFor?: number;
    readonly invalidation?: Invalidation;
  }) {
    const {
      db,
      database,
      maxProjects,
      singleWriter = true,
      knownFor = usualTime,
      invalidation = unannounced,
    } = args;
    this.#db = db;
    this.#table = `${database}.projects`;
    this.#limit = maxProjects === undefined ? null : this.#quotaOf(maxProjects);
    const alwaysFor = invalidation.announces ? Number.NEGATIVE_INFINITY : knownFor;
    this.#freshness = new Freshness({
      invalidation,
      announcedFor,
      otherwiseFor: singleWriter ? Number.POSITIVE_INFINITY : alwaysFor,
    });
    this.#files = new TableFiles(db, database);
  }

  async find(ownerId: string, slug: string, signal: AbortSignal): Promise<Project | null> {
    const cached = this.#known.get(cacheKey(ownerId, slug));
    if (cached !== undefined && this.#freshness.isFresh(cached.project.id, cached.read))
      return cached.project;
    const project = { id: uuidV5(ownerId, slug), ownerId, slug };
    const read = this.#freshness.begin();
    const row = await this.#newest(project.id, signal);
    if (row === undefined) return null;
    const { rules, presets } = row;
    if (!rules && !presets) return this.#keep(project, read);
    const found = {
      ...project,
      ...(rules && { fileRules: JSON.parse(rules) as FileRules }),
      ...(presets && { imagePresets: JSON.parse(presets) as readonly ImagePreset[] }),
    };
    const characters = rules.length + presets.length;
    return this.#keep(found, read, bytesOfProject + bytesOfCharacter * characters);
  }

  /**
   * Stores the rules of the project's files. Other processes may still use the ones before until their cached copy
   * expires. @param rules null: removes them
   */
  setFileRules(project: Project, rules: FileRules | null, signal: AbortSignal): Promise<void> {
    return this.#change(project, { rules: rules === null ? '' : JSON.stringify(rules) }, signal);
  }

  /** Stores the project's own sizes of pictures, like its rules. @param presets empty: removes them */
  setImagePresets(project: Project, presets: readonly ImagePreset[], signal: AbortSignal): Promise<void> {
    const text = presets.length === 0 ? '' : JSON.stringify(presets);
    return this.#change(project, { presets: text }, signal);
  }

  async #change(
    { id, ownerId, slug }: Project,
    change: Partial<Pick<ProjectRow, 'rules' | 'presets'>>,
    signal: AbortSignal,
  ): Promise<void> {
    const before = await this.#newest(id, signal);
    const made = timestampText(new Date(before?.created ?? Date.now()));
    const { rules = before?.rules ?? '', presets = before?.presets ?? '' } = change;
    const lines = rowLine([id, ownerId, slug, made, (before?.version ?? 0) + 1, rules, presets]);
    const all = [...columns, 'file_rules', 'image_presets'];
    await this.#db.insert({ table: this.#table, columns: all, lines, signal });
    this.#known.delete(cacheKey(ownerId, slug));
    await this.#freshness.changed(id);
  }

  async #newest(id: string, signal: AbortSignal): Promise<ProjectRow | undefined> {
    const sql = `SELECT file_rules AS rules, image_presets AS presets, toFloat64(version) AS version,
      toFloat64(toUnixTimestamp64Milli(created_at)) AS created
      FROM ${this.#table} WHERE id = ${textLiteral(id)} ORDER BY version DESC LIMIT 1`;
    return (await this.#db.rows<ProjectRow>({ sql, signal }))[0];
  }

  /**
   * Finds the project, or creates it. Two processes that do so at once create the same project. Throws a 403 when its
   * owner has too many.
   */
  async ensure(ownerId: string, slug: string, signal: AbortSignal): Promise<Project> {
    const found = await this.find(ownerId, slug, signal);
    if (found !== null) return found;
    await this.#limit?.add(ownerId, signal);
    const project = { id: uuidV5(ownerId, slug), ownerId, slug };
    const read = this.#freshness.begin();
    const lines = rowLine([project.id, ownerId, slug, timestampText(new Date()), 0]);
    await this.#db.insert({ table: this.#table, columns, lines, signal });
    return this.#keep(project, read);
  }

  /**
   * A page of an account's projects, ordered by slug.
   * @param query.after the last slug of the previous page @param query.ids only these projects; absent: all
   */
  async list(
    ownerId: string,
    {
      limit,
      after = '',
      ids,
    }: {
      readonly limit: number;
      readonly after?: string | undefined;
      readonly ids?: readonly string[] | undefined;
    },
    signal: AbortSignal,
  ): Promise<readonly ListedProject[]> {
    if (ids?.length === 0) return [];
    const listed = ids === undefined ? '' : `AND id IN (${ids.map(textLiteral).join(', ')})`;
    const rows = await this.#db.rows<{ id: string; slug: string; created: number }>({
      sql: `SELECT id, slug, toFloat64(toUnixTimestamp64Milli(min(created_at))) AS created FROM ${this.#table}
       WHERE owner_id = ${textLiteral(ownerId)} AND slug > ${textLiteral(after)} ${listed}
       GROUP BY id, slug ORDER BY slug LIMIT ${limit}`,
      signal,
    });
    return rows.map(({ id, slug, created }) => ({ id, ownerId, slug, createdAt: new Date(created) }));
  }

  /** Removes an empty project. Other processes may still find it until their cached copy expires. */
  async remove({ id, ownerId, slug }: Project, signal: AbortSignal): Promise<void> {
    await this.#db.command({ sql: `DELETE FROM ${this.#table} WHERE id = ${textLiteral(id)}`, signal });
    this.#known.delete(cacheKey(ownerId, slug));
    this.#limit?.freed(ownerId);
    await this.#freshness.changed(id);
  }

  /** Removes the projects of a deleted account. */
  async removeOwner(ownerId: string, signal: AbortSignal): Promise<void> {
    const sql = `DELETE FROM ${this.#table} WHERE owner_id = ${textLiteral(ownerId)}`;
    await this.#db.command({ sql, signal });
  }

  /** Files in their table, and in the write-ahead log of the service that stores them. */
  get files(): ProjectFiles {
    return this.#files;
  }

  async hasFiles(project: Project, signal: AbortSignal): Promise<boolean> {
    return this.#files.hasAny(project, signal);
  }

  /** Called once by a service that has rows of files in a write-ahead log. */
  askForFiles(files: ProjectFiles): void {
    this.#files = files;
  }

  #keep(project: Project, read: ReadMoment, bytes = bytesOfProject): Project {
    if (this.#freshness.mayKeep(read))
      this.#known.set(cacheKey(project.ownerId, project.slug), { project, read, bytes });
    return project;
  }

  #quotaOf(limit: number): AccountQuota {
    return new AccountQuota({
      limits: { objects: limit },
      full: tooManyProjects,
      ask: async (ownerId, signal) => {
        const sql = `SELECT toFloat64(uniqExact(id)) AS projects FROM ${this.#table} WHERE owner_id = ${textLiteral(ownerId)}`;
        const [row] = await this.#db.rows<{ projects: number }>({ sql, signal });
        return { objects: row?.projects ?? 0 };
      },
    });
  }
}

/** A cheaper key than the id. A slug has no slash. */
function cacheKey(ownerId: string, slug: string): string {
  return `${ownerId}/${slug}`;
}
