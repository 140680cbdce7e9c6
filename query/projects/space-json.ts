import type { StoreList } from '#engine/store-list.ts';
import type { Grants } from '#kernel/grants.ts';
import { structureText } from '#records/structure/structure.ts';
import type { CatalogueEntry } from '../space/catalogue-entry.ts';
import type { SpaceFigures } from '../space/space-figures.ts';

const noFigures: SpaceFigures = { records: 0, bytes: 0 };

interface StructureJson {
  readonly name: string;
  readonly description: string;
  readonly recordStructure: unknown;
}

/** The stored structure in the form of the `structure` header. @param grants of who reads it */
export function structureJson({ structure }: CatalogueEntry, grants: Grants = {}): StructureJson {
  // the address of a webhook may hold a secret: a member who only finds records does not get it
  const seen = grants.may?.includes('structure') === false ? { ...structure, webhooks: null } : structure;
  return JSON.parse(structureText(seen)) as StructureJson;
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
