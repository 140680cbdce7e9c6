import type { StoreList } from '#engine/store-list.ts';
import { structureText } from '#records/structure/structure.ts';
import type { CatalogueEntry } from '../space/catalogue-entry.ts';
import type { SpaceFigures } from '../space/space-figures.ts';

const noFigures: SpaceFigures = { records: 0, bytes: 0 };

interface StructureJson {
  readonly name: string;
  readonly description: string;
  readonly recordStructure: unknown;
}

/** The stored structure in the form of the `structure` header. */
export function structureJson({ structure }: CatalogueEntry): StructureJson {
  return JSON.parse(structureText(structure)) as StructureJson;
}

export function spaceJson(entry: CatalogueEntry, { all }: StoreList, figures = noFigures) {
  const { name, description, recordStructure: fields } = structureJson(entry);
  const { slug } = entry.structure;
  const store = all.find(({ number }) => number === entry.store);
  const isAway = store?.available !== true;
  return {
    slug,
    name,
    description,
    fields,
    createdAt: entry.createdAt.toISOString(),
    ...(isAway ? { records: null, bytes: null } : figures),
    store: all.length === 1 ? null : { name: store?.name ?? '', available: !isAway },
  };
}
