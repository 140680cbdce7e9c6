import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { syncDirectory } from '#kernel/durable-files/durable-directories.ts';
import { CommandError } from '#kernel/errors/command-error.ts';

const manifestName = 'sluice-export.json';
const journalName = 'done.ndjson';
const format = 1;
/** Most bytes of a path segment. File systems allow 255. */
const longestPart = 200;

/** A complete file of an export. `path` is relative, with slashes. */
export interface DoneItem {
  /** Of a file: the id of the user who uploaded it; absent: none. */
  readonly owner?: string;
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hexadecimal digits. */
  readonly sha256: string;
}

export interface ExportedProject {
  readonly slug: string;
  /** Slugs. */
  readonly spaces: readonly string[];
  readonly files: number;
}

/** `sluice-export.json`: it is written last, so an export that has it is complete. */
export interface Manifest {
  readonly format: typeof format;
  readonly id: string;
  /** Address of the server. */
  readonly url: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly endedAt: string;
  readonly projects: readonly ExportedProject[];
}

/** A file of a project: a line of files.ndjson. */
export interface ExportedFile {
  readonly name: string;
  readonly originalName: string;
  readonly contentType: string;
  readonly size: number;
  readonly createdAt: string;
  readonly sha256: string;
  /** The id of the user who uploaded it, for rules of files; absent: none. */
  readonly owner?: string;
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
/** Throws if the end of a file shows that it is incomplete. @param end the last four bytes, or all of a shorter file */
type EndCheck = (end: string) => void;
const endBytes = 4;

/** The first line of the journal. */
type JournalStart = Pick<Manifest, 'format' | 'id' | 'url' | 'startedAt'>;

/** The paths in an export. */
export const pathOf = {
  structure: (project: string, space: string) =>
    `${safePart(project)}/spaces/${safePart(space)}/structure.json`,
  records: (project: string, space: string) =>
    `${safePart(project)}/spaces/${safePart(space)}/records.parquet`,
  fileRules: (project: string) => `${safePart(project)}/file-rules.json`,
  files: (project: string) => `${safePart(project)}/files.ndjson`,
  file: (project: string, name: string) => `${safePart(project)}/files/${percentEncoded(name)}`,
};

/** A file name that is also unique on case-insensitive file systems. */
export function safePart(text: string): string {
  const safe = percentEncoded(text).replace(/(%[0-9A-F]{2})|([A-Z])/g, (_, code: string, letter: string) =>
    code === undefined ? `%${letter.charCodeAt(0).toString(16)}` : code.toLowerCase(),
  );
  if (safe.length <= longestPart) return safe;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return `${safe.slice(0, longestPart - 40).replace(/%.?$/, '')}~${digest}`;
}

/** Prevents hidden files and paths out of the folder. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
    .replace(/^\./, '%2e');
}

/** An item of an export is changed or damaged. */
export class DamagedItem extends CommandError {}

/** A folder with a complete or partial export. Its journal lists the complete items. */
export class ExportFolder {
  readonly root: string;
  readonly start: JournalStart;
  readonly #items: Map<string, DoneItem>;
  readonly #journal: FileHandle | null;

  private constructor(parts: {
    root: string;
    start: JournalStart;
    items: Map<string, DoneItem>;
    journal: FileHandle | null;
  }) {
    this.root = parts.root;
    this.start = parts.start;
    this.#items = parts.items;
    this.#journal = parts.journal;
  }

  /**
   * Opens the folder for an export, which continues an interrupted one. Rejects with a CommandError for any other folder.
   * @param again removes an earlier export
   */
  static async begin(root: string, url: string, { again }: { again: boolean }): Promise<ExportFolder> {
    await mkdir(root, { recursive: true });
    const earlier = await readJournal(join(root, journalName));
    const names = await readdir(root);
    if (again && earlier !== null) return ExportFolder.#anew(root, url, earlier.items.keys());
    if (names.includes(manifestName))
      throw new CommandError(`${root} has a complete export: --again replaces it`);
    if (earlier === null && names.some((name) => name !== journalName && name !== `${journalName}.part`))
      throw new CommandError(`${root} is neither empty nor an export`);
    if (earlier !== null && earlier.start.url !== url)
      throw new CommandError(`${root} has an incomplete export of ${earlier.start.url}: --again replaces it`);
    return ExportFolder.#withJournal(root, earlier?.start ?? newStart(url), earlier?.items ?? new Map());
  }

  /** Removes an export. If this is interrupted, the rest belongs to no export. @param paths of its items */
  static async #anew(root: string, url: string, paths: Iterable<string>): Promise<ExportFolder> {
    const folder = await ExportFolder.#withJournal(root, newStart(url), new Map());
    await rm(join(root, manifestName), { force: true });
    const projects = new Set([...paths].map((path) => path.split('/')[0] as string));
    for (const project of projects) await rm(join(root, project), { recursive: true, force: true });
    return folder;
  }

  /** Rewrites the journal without incomplete lines, and without lines that later ones replaced. */
  static async #withJournal(
    root: string,
    start: JournalStart,
    items: Map<string, DoneItem>,
  ): Promise<ExportFolder> {
    await writeWhole(root, journalName, linesOf(start, ...items.values()));
    return new ExportFolder({ root, start, items, journal: await open(join(root, journalName), 'a') });
  }

  /** Opens the folder for reading. Rejects with a CommandError unless the export is complete. */
  static async openWhole(
    root: string,
  ): Promise<{ readonly folder: ExportFolder; readonly manifest: Manifest }> {
    const text = await readFile(join(root, manifestName), 'utf8').catch(() => null);
    if (text === null) throw new CommandError(`${root} has no ${manifestName}: it is not a complete export`);
    const manifest = JSON.parse(text) as Manifest;
    if (manifest.format !== format)
      throw new CommandError(`${root} has the format ${manifest.format}, but this version reads ${format}`);
    const { items } = (await readJournal(join(root, journalName))) ?? {};
    if (items === undefined) throw new CommandError(`${root} has no ${journalName}`);
    return { folder: new ExportFolder({ root, start: manifest, items, journal: null }), manifest };
  }

  absolute(path: string): string {
    return join(this.root, path);
  }

  /** The item, if it is complete. */
  async done(path: string): Promise<DoneItem | null> {
    const item = this.#items.get(path);
    if (item === undefined) return null;
    const { size } = (await stat(this.absolute(path)).catch(() => null)) ?? {};
    return size === item.bytes ? item : null;
  }

  /** Writes a file; `note` adds it to the journal. */
  write(path: string, chunks: Chunks, check?: EndCheck): Promise<DoneItem> {
    return writeWhole(this.root, path, chunks, check);
  }

  /** Adds complete items to the journal. */
  async note(...items: readonly DoneItem[]): Promise<void> {
    for (const item of items) this.#items.set(item.path, item);
    for (const line of linesOf(...items)) await this.#journal?.appendFile(line);
  }

  /** Completes an export. */
  async finish(projects: readonly ExportedProject[]): Promise<void> {
    await this.#journal?.sync();
    const manifest: Manifest = { ...this.start, endedAt: new Date().toISOString(), projects };
    await this.write(manifestName, [Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)]);
    await this.#journal?.close();
  }

  /** An item of a complete export. Rejects with a CommandError if it is missing or its bytes have changed. */
  async checked(path: string): Promise<DoneItem> {
    const item = await this.done(path);
    if (item === null) throw new DamagedItem(`${path} is missing, or its size has changed`);
    if ((await digestOf(createReadStream(this.absolute(path)))) !== item.sha256)
      throw new DamagedItem(`${path} is damaged: its SHA-256 does not match ${journalName}`);
    return item;
  }

  /** The files of a project of a complete export. */
  async *files(project: string): AsyncGenerator<ExportedFile> {
    const { path } = await this.checked(pathOf.files(project));
    for await (const line of createInterface({ input: createReadStream(this.absolute(path)) }))
      yield JSON.parse(line) as ExportedFile;
  }
}

/** The SHA-256 in lower-case hexadecimal digits. */
export async function digestOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

/** Null: there is none. The last line may be incomplete. Rejects with a CommandError if an item lies outside the folder. */
async function readJournal(
  path: string,
): Promise<{ start: JournalStart; items: Map<string, DoneItem> } | null> {
  const text = createReadStream(path, 'utf8');
  let start: JournalStart | null = null;
  const items = new Map<string, DoneItem>();
  let number = 0;
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) {
      number++;
      const read = parsed(line);
      if (read === null) continue;
      if (start === null) {
        start = read as JournalStart;
        if (start.format !== format) return null;
        continue;
      }
      const item = read as DoneItem;
      if (!isItemPath(item.path))
        throw new CommandError(
          `${path}, line ${number}: ${JSON.stringify(item.path)} is not the path of an item: nothing was changed`,
        );
      items.set(item.path, item);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    text.destroy();
  }
  return start === null ? null : { start, items };
}

/** Whether a path is below a project of the export, as all of `pathOf` are. `--again` removes what the journal names. */
function isItemPath(path: unknown): boolean {
  return typeof path === 'string' && /^[^./\\\0][^/\\\0]*(?:\/[^./\\\0][^/\\\0]*)+$/.test(path);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function newStart(url: string): JournalStart {
  return { format, id: randomUUID(), url, startedAt: new Date().toISOString() };
}

function linesOf(...values: readonly object[]): Buffer[] {
  return values.map((value) => Buffer.from(`${JSON.stringify(value)}\n`));
}

/** Writes a file atomically and durably. */
async function writeWhole(
  root: string,
  path: string,
  chunks: Chunks,
  check: EndCheck = () => {},
): Promise<DoneItem> {
  const target = join(root, path);
  await mkdir(dirname(target), { recursive: true });
  const hash = createHash('sha256');
  let [bytes, end] = [0, Buffer.alloc(0)];
  const file = await open(`${target}.part`, 'w');
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      end = Buffer.concat([end, chunk.subarray(-endBytes)]).subarray(-endBytes);
      await file.writeFile(chunk);
    }
    check(end.toString('latin1'));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${target}.part`, target);
  await syncDirectory(dirname(target));
  return { path, bytes, sha256: hash.digest('hex') };
}
