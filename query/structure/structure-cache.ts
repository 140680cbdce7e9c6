import { LRUCache } from 'lru-cache';
import { invalidStructure, missingStructure } from '../../common/errors/catalogue.ts';
import { shownName } from '../shown-name.ts';
import { parseStructure } from './parse-structure.ts';
import type { Structure } from './structure.ts';

/** Characters of header text whose structures are kept. */
const keptCharacters = 16 * 1024 * 1024;

export interface SpacePath {
  readonly projectSlug: string;
  readonly slug: string;
}

/** Reads `structure` headers; one that was seen before is not parsed again, and gives the same object. */
export interface StructureCache {
  /** Throws a 400 that lists every problem, disagreement with the path included. */
  read(header: string | undefined, path: SpacePath): Structure;
  /** The same for a text that is not sent again and again: it is not kept. */
  parse(text: string, path: SpacePath): Structure;
}

export function createStructureCache(): StructureCache {
  const known = new LRUCache<string, Structure>({
    maxSize: keptCharacters,
    sizeCalculation: (_, text) => text.length,
  });
  return {
    read(header, path) {
      if (header === undefined || header === '') throw missingStructure();
      const cached = known.get(header);
      if (cached !== undefined && cached.projectSlug === path.projectSlug && cached.slug === path.slug) {
        return cached;
      }
      const structure = parse(header, path);
      known.set(header, structure);
      return structure;
    },
    parse,
  };
}

function parse(text: string, path: SpacePath): Structure {
  const { structure, problems, ...slugs } = parseStructure(text);
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
