import { LRUCache } from 'lru-cache';
import { invalidStructure, missingStructure } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import { type ParsedStructure, parseStructure, readStructure } from '#records/structure/parse-structure.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';

/** Reads `structure` headers; one that was seen before is not parsed again, and gives the same object. */
export class StructureCache {
  readonly #scopes: readonly string[];
  readonly #counts: CacheCounts;
  readonly #known: LRUCache<string, Structure>;

  /** @param args.scopes that `authOptions` may name @param args.bytes that may be kept */
  constructor(args: { scopes: readonly string[]; bytes: number; counts?: CacheCounts }) {
    const { scopes, bytes, counts = new CacheCounts() } = args;
    this.#scopes = scopes;
    this.#counts = counts;
    this.#known = new LRUCache({
      maxSize: bytes,
      sizeCalculation: (structure, text) => sizeOf(text, structure),
    });
  }

  /** Throws a 400 that lists every problem, disagreement with the path included. */
  read(header: string | undefined, path: SpacePath): Structure {
    if (header === undefined || header === '') throw missingStructure();
    return this.#keptOr(header, path, () => checked(parseStructure(header, this.#scopes), path));
  }

  /** The same for the parsed JSON of a structure that came another way. @param text that it came in, if it may again */
  readParsed(input: unknown, path: SpacePath, text?: string): Structure {
    const parse = (): Structure => checked(readStructure(input, this.#scopes), path);
    if (text === undefined) return parse();
    // no JSON begins like this, so it is never taken for a header that is a structure itself
    return this.#keptOr(`in ${text}`, path, () => {
      const parsed = parse();
      // the same object as for a header with this structure, so both share everything that is known of it.
      // a structure that was checked is not too deep to be written as text
      return this.#keptOr(JSON.stringify(input), path, () => parsed);
    });
  }

  #keptOr(key: string, path: SpacePath, parse: () => Structure): Structure {
    const kept = this.#known.get(key);
    const fits = kept?.projectSlug === path.projectSlug && kept.slug === path.slug;
    const cached = this.#counts.count(fits ? kept : undefined);
    if (cached !== undefined) return cached;
    const structure = parse();
    this.#known.set(key, structure);
    return structure;
  }
}

/** The bytes of a structure with its text, and with a view of a space, as measured with 1 to 40 fields. */
function sizeOf(text: string, { fields, initialData }: Structure): number {
  // records are objects by now
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
    const said = structure[key];
    if (said === null || said === path[key]) return [];
    return `The structure's ${key} is ${shownName(said)}, but the path says ${shownName(path[key])}`;
  });
}
