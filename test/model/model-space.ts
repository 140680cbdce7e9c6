import type { ExpectedRecord } from './expected.ts';
import { type ModelValue, shownText } from './model-field.ts';
import type { ModelStructure } from './model-structure.ts';

/** What the service sets is null until an answer has shown it. */
export interface ModelRecord {
  id: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  /** Its `updatedAt` is later than this, or than `createdAt` where that was not known; null: it was not changed. */
  changedAfter: string | 'createdAt' | null;
  /** By slugs; what is absent has no value. */
  readonly values: Map<string, ModelValue>;
}

export interface ModelSpace {
  stored: ModelStructure;
  /** It was decided what it begins with. */
  begun: boolean;
  /** In the order of insertion. */
  records: ModelRecord[];
}

export function newRecord(values: ReadonlyMap<string, ModelValue>): ModelRecord {
  return { id: null, createdAt: null, updatedAt: null, changedAfter: null, values: new Map(values) };
}

/** The record as a request with this structure is shown it. */
export function shown(record: ModelRecord, view: ModelStructure): ExpectedRecord {
  const fields = view.fields
    .filter(({ hashed }) => !hashed)
    .map(({ name, slug, type }) => [name, shownText(type, record.values.get(slug) ?? null)] as const);
  return { record, fields };
}
