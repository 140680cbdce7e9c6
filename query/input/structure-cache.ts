import { LRUCache } from 'lru-cache';
import { invalidStructure, missingStructure } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { CacheCounts } from '../../common/telemetry/cache-counts.ts';
import { type ParsedStructure, parseStructure, readStructure } from '../structure/parse-structure.ts';
import type { SpacePath, Structure } from '../structure/structure.ts';

/** Characters of header text whose structures are kept. */
const keptCharacters = 16 * 1024 * 1024;

/** Reads `structure` headers; one that was seen before is not parsed again, and gives the same object. */
export interface StructureCache {
  /** Throws a 400 that lists every problem, disagreement with the path included. */
  read(header: string | undefined, path: SpacePath): Structure;
  /** The same for the parsed JSON of a structure that came another way. @param text that it came in, if it may again */
  readParsed(input: unknown, path: SpacePath, text?: string): Structure;
}

/** @param scopes that `authOptions` may name */
export function createStructureCache(scopes: readonly string[], counts = new CacheCounts()): StructureCache {
  const known = new LRUCache<string, Structure>({
    maxSize: keptCharacters,
    sizeCalculation: (_, text) => text.length,
  });
  // comparing long texts takes a fraction of the time of hashing them
  const last = new LRUCache<string, { readonly text: string; readonly structure: Structure }>({
    maxSize: keptCharacters / 4,
    sizeCalculation: ({ text }) => text.length,
  });
  const cachedFor = (key: string, path: SpacePath): Structure | undefined => {
    const cached = known.get(key);
    const fits = cached?.projectSlug === path.projectSlug && cached.slug === path.slug;
    return counts.count(fits ? cached : undefined);
  };
  const cachedOr = (key: string, path: SpacePath, parse: () => ParsedStructure): Structure => {
    const cached = cachedFor(key, path);
    if (cached !== undefined) return cached;
    const structure = checked(parse(), path);
    known.set(key, structure);
    return structure;
  };
  return {
    read(header, path) {
      if (header === undefined || header === '') throw missingStructure();
      const before = last.get(path.slug);
      if (before?.text === header && before.structure.projectSlug === path.projectSlug) {
        return counts.count(before.structure);
      }
      const structure = cachedOr(header, path, () => parseStructure(header, scopes));
      last.set(path.slug, { text: header, structure });
      return structure;
    },
    readParsed(input, path, text) {
      const parse = (): ParsedStructure => readStructure(input, scopes);
      if (text === undefined) return checked(parse(), path);
      // no JSON begins like this, so it is never taken for a header that is a structure itself
      const key = `in ${text}`;
      const cached = cachedFor(key, path);
      if (cached !== undefined) return cached;
      const parsed = parse();
      checked(parsed, path);
      // the same object as for a header with this structure, so both share everything that is known of it.
      // Only what has been checked is not too deep to be written as text
      const structure = cachedOr(JSON.stringify(input), path, () => parsed);
      known.set(key, structure);
      return structure;
    },
  };
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
  const problems: string[] = [];
  for (const key of ['projectSlug', 'slug'] as const) {
    const said = structure[key];
    if (said === null || said === path[key]) continue;
    problems.push(`The structure's ${key} is ${shownName(said)}, but the path says ${shownName(path[key])}`);
  }
  return problems;
}
