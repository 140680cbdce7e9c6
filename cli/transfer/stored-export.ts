import { createHash, randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { CommandError } from '#kernel/errors/command-error.ts';
import { isItemPath, pathOf } from './export-paths.ts';
import { type Chunks, type ExportPlace, journalName } from './export-place.ts';
import { FolderPlace } from './folder-place.ts';

const manifestName = 'sluice-export.json';
const format = 1;

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
  /** Absent: it stays. */
  readonly expiresAt?: string;
  /** Its folder, and its path there; absent: none. */
  readonly folder?: string;
  readonly path?: string;
}

/** Throws if the end of a file shows that it is incomplete. @param end the last four bytes, or all of a shorter file */
type EndCheck = (end: string) => void;
const endBytes = 4;

/** The first line of each file of the journal. */
type JournalStart = Pick<Manifest, 'format' | 'id' | 'url' | 'startedAt'>;

/** An item of an export is changed or damaged. */
export class DamagedItem extends CommandError {}

/** A complete or partial export. Its journal lists the complete items. */
export class StoredExport {
  readonly place: ExportPlace;
  readonly start: JournalStart;
  readonly #items: Map<string, DoneItem>;

  private constructor(parts: { place: ExportPlace; start: JournalStart; items: Map<string, DoneItem> }) {
    this.place = parts.place;
    this.start = parts.start;
    this.#items = parts.items;
  }

  /**
   * Opens a place for an export, which continues an interrupted one. Rejects with a CommandError if it has anything else.
   * @param again removes an earlier export
   */
  static async begin(place: ExportPlace, url: string, { again }: { again: boolean }): Promise<StoredExport> {
    const earlier = await readJournal(place);
    const names = await place.names();
    if (earlier === null && names.length > 0)
      throw new CommandError(
        names.includes(manifestName)
          ? `${place.name} has a complete export without its ${journalName}: remove it yourself`
          : `${place.name} is neither empty nor an export`,
      );
    if (earlier !== null) await place.removeUnfinished();
    if (again && earlier !== null) return StoredExport.#anew(place, url, earlier.items.keys());
    if (names.includes(manifestName))
      throw new CommandError(`${place.name} has a complete export: --again replaces it`);
    if (earlier !== null && earlier.start.url !== url)
      throw new CommandError(
        `${place.name} has an incomplete export of ${earlier.start.url}: --again replaces it`,
      );
    return StoredExport.#withJournal(place, earlier?.start ?? newStart(url), earlier?.items ?? new Map());
  }

  /** Removes an export. If this is interrupted, the rest belongs to no export. @param paths of its items */
  static async #anew(place: ExportPlace, url: string, paths: Iterable<string>): Promise<StoredExport> {
    const stored = await StoredExport.#withJournal(place, newStart(url), new Map());
    const projects = new Set([...paths].map((path) => path.split('/')[0] as string));
    await place.remove([manifestName, ...projects]);
    return stored;
  }

  /** Rewrites the journal without incomplete lines, and without lines that later ones replaced. */
  static async #withJournal(
    place: ExportPlace,
    start: JournalStart,
    items: Map<string, DoneItem>,
  ): Promise<StoredExport> {
    await place.replaceJournal(lineOf(start), linesOf(items.values()));
    return new StoredExport({ place, start, items });
  }

  /** Opens an export for reading. Rejects with a CommandError unless it is complete. */
  static async openWhole(
    place: ExportPlace,
  ): Promise<{ readonly stored: StoredExport; readonly manifest: Manifest }> {
    if ((await place.size(manifestName)) === null)
      throw new CommandError(`${place.name} has no ${manifestName}: it is not a complete export`);
    const manifest = parsed(await textOf(place.read(manifestName))) as Manifest | null;
    if (manifest === null) throw new CommandError(`${place.name}: ${manifestName} is damaged`);
    if (manifest.format !== format)
      throw new CommandError(
        `${place.name} has the format ${manifest.format}, but this version reads ${format}`,
      );
    const { items, start } = (await readJournal(place)) ?? {};
    if (items === undefined) throw new CommandError(`${place.name} has no ${journalName}`);
    if (start?.id !== manifest.id)
      throw new CommandError(`${place.name}: ${journalName} and ${manifestName} are of different exports`);
    return { stored: new StoredExport({ place, start: manifest, items }), manifest };
  }

  /** The item, if it is complete. */
  async done(path: string): Promise<DoneItem | null> {
    const item = this.#items.get(path);
    return item !== undefined && (await this.place.size(path)) === item.bytes ? item : null;
  }

  /** Writes a file; `note` adds it to the journal. @param options.bytes its size, if it is known */
  write(
    path: string,
    chunks: Chunks,
    options: { readonly check?: EndCheck; readonly bytes?: number | undefined } = {},
  ): Promise<DoneItem> {
    return writeItem(this.place, path, chunks, options);
  }

  /** Adds complete items to the journal. */
  async note(...items: readonly DoneItem[]): Promise<void> {
    for (const item of items) this.#items.set(item.path, item);
    const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
    await this.place.appendJournal([...linesOf(items)], bytes);
  }

  /** Completes an export: its manifest is written last. */
  async finish(projects: readonly ExportedProject[]): Promise<void> {
    await this.place.replaceJournal(lineOf(this.start), linesOf(this.#items.values()));
    const manifest: Manifest = { ...this.start, endedAt: new Date().toISOString(), projects };
    await this.place.write(manifestName, [Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)]);
  }

  /** An item of a complete export. Rejects with a DamagedItem if it is missing, or its bytes have changed. */
  async checked(path: string): Promise<DoneItem> {
    const item = await this.present(path);
    for await (const _ of this.read(item));
    return item;
  }

  /** An item of a complete export. Rejects with a DamagedItem if it is missing or has another size. */
  async present(path: string): Promise<DoneItem> {
    const item = await this.done(path);
    if (item === null) throw new DamagedItem(`${path} is missing, or its size has changed`);
    return item;
  }

  /** The bytes of an item. Fails with a DamagedItem, before the last of them, if they have changed. */
  async *read({ path, sha256 }: DoneItem): AsyncGenerator<Uint8Array, void, undefined> {
    const hash = createHash('sha256');
    let held: Uint8Array | undefined;
    for await (const chunk of this.place.read(path)) {
      hash.update(chunk);
      if (held !== undefined) yield held;
      held = chunk;
    }
    if (hash.digest('hex') !== sha256)
      throw new DamagedItem(`${path} is damaged: its SHA-256 does not match ${journalName}`);
    if (held !== undefined) yield held;
  }

  /** A file of the file system with the bytes of an item, checked. @param work a folder for a copy */
  async localFile(path: string, work: FolderPlace): Promise<string> {
    const { place } = this;
    if (place instanceof FolderPlace) return place.absolute((await this.checked(path)).path);
    const copy = `export/${path}`;
    await work.write(copy, this.read(await this.present(path)));
    return work.absolute(copy);
  }

  /** A small item as JSON, checked. */
  async json(path: string): Promise<unknown> {
    return JSON.parse(await textOf(this.read(await this.present(path))));
  }

  /** The files of a project of a complete export. */
  async *files(project: string): AsyncGenerator<ExportedFile> {
    const item = await this.checked(pathOf.files(project));
    for await (const line of createInterface({ input: Readable.from(this.read(item)) }))
      yield JSON.parse(line) as ExportedFile;
  }
}

/** The SHA-256 in lower-case hexadecimal digits. */
export async function digestOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

/** Writes a file, and computes its digest. */
export async function writeItem(
  place: Pick<ExportPlace, 'write'>,
  path: string,
  chunks: Chunks,
  { check, bytes: known }: { readonly check?: EndCheck; readonly bytes?: number | undefined } = {},
): Promise<DoneItem> {
  const hash = createHash('sha256');
  let [bytes, end] = [0, Buffer.alloc(0)];
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      end = Buffer.concat([end, chunk.subarray(-endBytes)]).subarray(-endBytes);
      yield chunk;
    }
    check?.(end.toString('latin1'));
  }
  await place.write(path, measured(), known);
  return { path, bytes, sha256: hash.digest('hex') };
}

/** Null: there is none. Rejects with a CommandError if an item is not below the place. */
async function readJournal(
  place: ExportPlace,
): Promise<{ start: JournalStart; items: Map<string, DoneItem> } | null> {
  let start: JournalStart | null = null;
  const items = new Map<string, DoneItem>();
  let [current, id]: [file: string, id: string] = ['', ''];
  for await (const { file, number, text } of place.journal()) {
    const read = parsed(text);
    if (read === null) continue;
    if (file !== current) {
      const first = read as JournalStart;
      [current, id] = [file, first.id];
      start ??= first;
      if (start.format !== format) return null;
      continue;
    }
    // it is left of an earlier export
    if (id !== start?.id) continue;
    const item = read as DoneItem;
    if (!isItemPath(item.path))
      throw new CommandError(
        `${file}, line ${number}: ${JSON.stringify(item.path)} is not the path of an item: nothing was changed`,
      );
    items.set(item.path, item);
  }
  return start === null ? null : { start, items };
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

function lineOf(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

function* linesOf(values: Iterable<object>): Generator<Buffer> {
  for (const value of values) yield lineOf(value);
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read).toString();
}
