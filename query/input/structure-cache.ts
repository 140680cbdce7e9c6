import { LRUCache } from 'lru-cache';
import { invalidStructure, missingStructure } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import { type ParsedStructure, parseStructure, readStructure } from '#records/structure/parse-structure.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';

interface CachedStructure {
  readonly text: string;
  readonly structure: Structure;
}

/** The share of the memory for the latest structures. */
const latestShare = 1 / 4;

/** Parses `structure` headers. A repeated header is not parsed again, and yields the same object. */
export class StructureCache {
  readonly #scopes: readonly string[];
  readonly #counts: CacheCounts;
  readonly #structures: LRUCache<string, CachedStructure>;
  /** By slug: to compare a long text with the latest one takes a fraction of the time of hashing it. */
  readonly #latest: LRUCache<string, CachedStructure>;

  /** @param args.scopes that `authOptions` may name @param args.bytes capacity of the cache */
  constructor(args: { scopes: readonly string[]; bytes: number; counts?: CacheCounts }) {
    const { scopes, bytes, counts = new CacheCounts() } = args;
    this.#scopes = scopes;
    this.#counts = counts;
    const latestBytes = Math.floor(bytes * latestShare);
    this.#structures = new LRUCache({ maxSize: Math.floor(bytes) - latestBytes, sizeCalculation: sizeOf });
    this.#latest = new LRUCache({ maxSize: latestBytes, sizeCalculation: sizeOf });
  }

  /** Throws a 400 that lists every problem, disagreement with the path included. */
  read(header: string | undefined, path: SpacePath): Structure {
    if (header === undefined || header === '') throw missingStructure();
    const latest = this.#latest.get(path.slug);
    if (latest?.text === header && isAt(path, latest.structure)) return this.#counts.count(latest.structure);
    const cached = this.#cachedOr(header, path, () => checked(parseStructure(header, this.#scopes), path));
    this.#latest.set(path.slug, cached);
    return cached.structure;
  }

  /** The same for a structure that did not come in the header. @param text its source, if it may come again */
  readParsed(input: unknown, path: SpacePath, text?: string): Structure {
    const parse = (): Structure => checked(readStructure(input, this.#scopes), path);
    if (text === undefined) return parse();
    // no JSON begins like this, so the key can't equal a `structure` header
    return this.#cachedOr(`in ${text}`, path, () => {
      const parsed = parse();
      // a header with the same structure yields the same object, so both share what is cached for it.
      // the structure was checked, so it is not too deep for JSON.stringify
      return this.#cachedOr(JSON.stringify(input), path, () => parsed).structure;
    }).structure;
  }

  #cachedOr(text: string, path: SpacePath, parse: () => Structure): CachedStructure {
    const found = this.#structures.get(text);
    const cached = this.#counts.count(found !== undefined && isAt(path, found.structure) ? found : undefined);
    if (cached !== undefined) return cached;
    const made = { text, structure: parse() };
    this.#structures.set(text, made);
    return made;
  }
}

function isAt({ projectSlug, slug }: SpacePath, structure: Structure): boolean {
  return structure.projectSlug === projectSlug && structure.slug === slug;
}

/** Bytes of a structure, its text and a view of a space, as measured with 1 to 40 fields. */
function sizeOf({ text, structure: { fields, initialData } }: CachedStructure): number {
  // initial records are held as parsed objects
  return 1800 + 600 * fields.length + (initialData.length === 0 ? 2 : 20) * text.length;
}

function checked({ structure, problems, ...slugs }: ParsedStructure, path: SpacePath): Structure {
  const all = [...problems, ...disagreements(slugs, path)];
  if (structure === null || all.length > 0) throw invalidStructure(all);
  return structure;
}

function disagreements(
  structure: { readonly projectSlug: string | null; readonly slug: string | null },
  path: SpacePath,
): string[] {
  return (['projectSlug', 'slug'] as const).flatMap((key) => {
    const slug = structure[key];
    if (slug === null || slug === path[key]) return [];
    return `The structure's ${key} is ${shownName(slug)}, but the path says ${shownName(path[key])}`;
  });
}
