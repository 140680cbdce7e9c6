import { LRUCache } from 'lru-cache';
import { upTo } from '#kernel/limits/up-to.ts';
import type { CloudFile } from './cloud-file.ts';
import { NameBatcher } from './name-batcher.ts';

/** Where a file is in a folder. */
export interface FilePlace {
  readonly folder: string;
  readonly path: string;
}

/** A folder of a project. */
export interface FolderOf extends Pick<CloudFile, 'ownerId' | 'projectSlug'> {
  readonly folder: string;
}

const cachedPlaces = 10_000;
/** How long a lookup of a path is cached: where other processes put files there, or not. Milliseconds. */
const cachedFor = { shared: 1000, singleWriter: 60_000 } as const;
const missingFor = 1000;
const knownFolders = 10_000;
const knownFor = 60_000;

export function placeKey({ folder, path }: FilePlace): string {
  return `${folder}/${path}`;
}

/** The place of a key. */
export function placeOf(key: string): FilePlace {
  const slash = key.indexOf('/');
  return { folder: key.slice(0, slash), path: key.slice(slash + 1) };
}

/** The place of a file; null: it is in no folder. */
export function placeOfFile({ folder, path }: Pick<CloudFile, 'folder' | 'path'>): FilePlace | null {
  return folder === undefined || path === undefined ? null : { folder, path };
}

interface FolderIndexParts {
  /** The published files at some places; the newest of each. */
  readonly byPlaces: (
    places: readonly FilePlace[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, CloudFile>>;
  /** Published, by another cache that knows of changes. */
  readonly byName: (name: string, signal: AbortSignal) => Promise<CloudFile | null>;
  readonly ownerOfFolder: (folder: string, signal: AbortSignal) => Promise<FolderOf | null>;
  /** No other process puts files anywhere. */
  readonly singleWriter: boolean;
}

/**
 * Finds files by folder and path. It caches names only, so that a file that is changed or removed is noticed by the
 * cache of rows.
 */
export class FolderIndex {
  readonly #parts: FolderIndexParts;
  readonly #lookups: NameBatcher<ReadonlyMap<string, CloudFile>>;
  readonly #names: LRUCache<string, string>;
  readonly #missing = new LRUCache<string, true>({ ...upTo(cachedPlaces), ttl: missingFor });
  readonly #folders = new LRUCache<string, FolderOf>({ ...upTo(knownFolders), ttl: knownFor });
  /** Files that this process has put into folders: what was read before one is not cached after it. */
  #changes = 0;

  constructor(parts: FolderIndexParts) {
    const { byPlaces, singleWriter } = parts;
    this.#parts = parts;
    const ttl = singleWriter ? cachedFor.singleWriter : cachedFor.shared;
    this.#names = new LRUCache({ ...upTo(cachedPlaces), ttl });
    this.#lookups = new NameBatcher((keys, signal) => byPlaces(keys.map(placeOf), signal));
  }

  /** The newest published file of a place, as of a second ago at most where other processes write. */
  async find(place: FilePlace, signal: AbortSignal): Promise<CloudFile | null> {
    const key = placeKey(place);
    const name = this.#names.get(key);
    const cached = name === undefined ? null : await this.#parts.byName(name, signal);
    if (cached !== null) return cached;
    if (this.#missing.has(key)) return null;
    const changes = this.#changes;
    const file = (await this.#lookups.run(key, signal)).get(key) ?? null;
    if (changes !== this.#changes) return file;
    if (file === null) this.#missing.set(key, true);
    else this.#names.set(key, file.name);
    return file;
  }

  /** The same as of now: a statement reads only for calls that came before it began. */
  async current(place: FilePlace, signal: AbortSignal): Promise<CloudFile | null> {
    const key = placeKey(place);
    return (await this.#lookups.run(key, signal)).get(key) ?? null;
  }

  /** Whose a folder is that has any file, published or not; a minute ago counts. Null: it has none. */
  async ownerOf(folder: string, signal: AbortSignal): Promise<FolderOf | null> {
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    const found = await this.#parts.ownerOfFolder(folder, signal);
    if (found !== null) this.#know(found);
    return found;
  }

  /** A file is stored, in a folder or not. */
  note(file: CloudFile): void {
    const place = placeOfFile(file);
    if (place === null) return;
    const key = placeKey(place);
    this.#changes++;
    this.#missing.delete(key);
    this.#names.delete(key);
    this.#know({ ...file, folder: place.folder });
  }

  #know({ folder, ownerId, projectSlug }: FolderOf): void {
    this.#folders.set(folder, { folder, ownerId, projectSlug });
  }
}
