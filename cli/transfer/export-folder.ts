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
/** Bytes of a part of a path. File systems take 255. */
const longestPart = 200;

/** A file of an export that is whole. `path` is relative, with slashes. */
export interface DoneItem {
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

/** `sluice-export.json`: it is written last, so an export that has it is whole. */
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

/** A file of a project, as a line of files.ndjson says it. */
export interface ExportedFile {
  readonly name: string;
  readonly originalName: string;
  readonly contentType: string;
  readonly size: number;
  readonly createdAt: string;
  readonly sha256: string;
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
/** Throws for the end of a file that is not whole. @param end four bytes, or all where there are fewer */
type EndCheck = (end: string) => void;
const endBytes = 4;

/** The first line of the journal. */
type JournalStart = Pick<Manifest, 'format' | 'id' | 'url' | 'startedAt'>;

/** Where things are in an export. */
export const pathOf = {
  structure: (project: string, space: string) =>
    `${safePart(project)}/spaces/${safePart(space)}/structure.json`,
  records: (project: string, space: string) =>
    `${safePart(project)}/spaces/${safePart(space)}/records.parquet`,
  files: (project: string) => `${safePart(project)}/files.ndjson`,
  file: (project: string, name: string) => `${safePart(project)}/files/${percentEncoded(name)}`,
};

/** A file name that stays unique where letter case does not count. */
export function safePart(text: string): string {
  const safe = percentEncoded(text).replace(/(%[0-9A-F]{2})|([A-Z])/g, (_, code: string, letter: string) =>
    code === undefined ? `%${letter.charCodeAt(0).toString(16)}` : code.toLowerCase(),
  );
  if (safe.length <= longestPart) return safe;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return `${safe.slice(0, longestPart - 40).replace(/%.?$/, '')}~${digest}`;
}

/** Neither a hidden file nor a way out of the folder. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
    .replace(/^\./, '%2e');
}

/** An item of an export that was changed or damaged. */
export class DamagedItem extends CommandError {}

/** A folder with an export, or with the beginning of one. Its journal says which items are whole. */
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
   * For an export, which goes on where the last one was cut. Rejects with a CommandError for a folder of something else.
   * @param again: what is there of an earlier export is removed
   */
  static async begin(root: string, url: string, { again }: { again: boolean }): Promise<ExportFolder> {
    await mkdir(root, { recursive: true });
    const earlier = await readJournal(join(root, journalName));
    const names = await readdir(root);
    if (again && earlier !== null) return ExportFolder.#anew(root, url, earlier.items.keys());
    if (names.includes(manifestName))
      throw new CommandError(`${root} has an export that is whole: --again replaces it`);
    if (earlier === null && names.some((name) => name !== journalName && name !== `${journalName}.part`))
      throw new CommandError(`${root} is neither empty nor an export`);
    if (earlier !== null && earlier.start.url !== url)
      throw new CommandError(
        `${root} has the beginning of an export of ${earlier.start.url}: --again replaces it`,
      );
    return ExportFolder.#withJournal(root, earlier?.start ?? newStart(url), earlier?.items ?? new Map());
  }

  /** Whatever is left when this is cut belongs to no export. @param paths of the items of the earlier one */
  static async #anew(root: string, url: string, paths: Iterable<string>): Promise<ExportFolder> {
    const folder = await ExportFolder.#withJournal(root, newStart(url), new Map());
    await rm(join(root, manifestName), { force: true });
    const projects = new Set([...paths].map((path) => path.split('/')[0] as string));
    for (const project of projects) await rm(join(root, project), { recursive: true, force: true });
    return folder;
  }

  /** The journal is written anew: without lines that were cut, or that later ones replaced. */
  static async #withJournal(
    root: string,
    start: JournalStart,
    items: Map<string, DoneItem>,
  ): Promise<ExportFolder> {
    await writeWhole(root, journalName, linesOf(start, ...items.values()));
    return new ExportFolder({ root, start, items, journal: await open(join(root, journalName), 'a') });
  }

  /** For reading. Rejects with a CommandError unless the export is whole. */
  static async openWhole(
    root: string,
  ): Promise<{ readonly folder: ExportFolder; readonly manifest: Manifest }> {
    const text = await readFile(join(root, manifestName), 'utf8').catch(() => null);
    if (text === null)
      throw new CommandError(`${root} has no ${manifestName}: it is no export that is whole`);
    const manifest = JSON.parse(text) as Manifest;
    if (manifest.format !== format)
      throw new CommandError(`${root} has the format ${manifest.format}, and this version reads ${format}`);
    const { items } = (await readJournal(join(root, journalName))) ?? {};
    if (items === undefined) throw new CommandError(`${root} has no ${journalName}`);
    return { folder: new ExportFolder({ root, start: manifest, items, journal: null }), manifest };
  }

  absolute(path: string): string {
    return join(this.root, path);
  }

  /** The item, if the export has all of it. */
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

  /** Notes items as whole. */
  async note(...items: readonly DoneItem[]): Promise<void> {
    for (const item of items) this.#items.set(item.path, item);
    for (const line of linesOf(...items)) await this.#journal?.appendFile(line);
  }

  /** Ends an export: from now on it is whole. */
  async finish(projects: readonly ExportedProject[]): Promise<void> {
    await this.#journal?.sync();
    const manifest: Manifest = { ...this.start, endedAt: new Date().toISOString(), projects };
    await this.write(manifestName, [Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)]);
    await this.#journal?.close();
  }

  /** An item of a whole export. Rejects with a CommandError when it is missing or has other bytes than it had. */
  async checked(path: string): Promise<DoneItem> {
    const item = await this.done(path);
    if (item === null) throw new DamagedItem(`${path} is missing, or has another size than it had`);
    if ((await digestOf(createReadStream(this.absolute(path)))) !== item.sha256)
      throw new DamagedItem(`${path} is damaged: its SHA-256 is not the one that ${journalName} has`);
    return item;
  }

  /** The files of a project of a whole export. */
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

/** Null: there is none. The last line may have been cut. */
async function readJournal(
  path: string,
): Promise<{ start: JournalStart; items: Map<string, DoneItem> } | null> {
  const text = createReadStream(path, 'utf8');
  let start: JournalStart | null = null;
  const items = new Map<string, DoneItem>();
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) {
      const read = parsed(line);
      if (read === null) continue;
      if (start === null) start = read as JournalStart;
      else items.set((read as DoneItem).path, read as DoneItem);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return start?.format === format ? { start, items } : null;
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

/** Writes a file so that it is whole under its name, also after a power cut. */
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
