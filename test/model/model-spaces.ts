import { type Refusal, Refused, refusal, throwAny } from './expected.ts';
import { convertedValue, type ModelField, type ModelValue } from './model-field.ts';
import { type ModelRecord, type ModelSpace, newRecord } from './model-space.ts';
import {
  bySlug,
  hasAll,
  type ModelStructure,
  mergedStructure,
  retyped,
  turnedOn,
  viewOf,
  withTypesOf,
} from './model-structure.ts';
import { isRecordBody, readNew, takenFields } from './write-rules.ts';

export interface SpaceCall {
  readonly owner: string;
  readonly project: string;
  readonly space: string;
  /** Null: the stored structure is meant. */
  readonly structure: ModelStructure | null;
  /** Names the very structure that was sent; null for one that is not sent again and again. */
  readonly structureText: string | null;
  readonly mutate: boolean;
  readonly createProject: boolean;
  readonly createSpace: boolean;
  /** It makes the space where there is none; a read only does with initialData. */
  readonly makes: boolean;
  /** It is about the structure itself. */
  readonly sets: boolean;
}

export interface OpenedSpace {
  readonly space: ModelSpace;
  readonly view: ModelStructure;
}

/** What one process remembers: structures that a space took in, and how often it went back to one of them. */
export interface ProcessMemory {
  readonly taken: Set<string>;
  readonly turns: Map<string, number>;
}

const turnLimit = 20;

export class ModelSpaces {
  readonly #projects = new Set<string>();
  readonly #spaces = new Map<string, ModelSpace>();

  get(owner: string, project: string, space: string): ModelSpace | undefined {
    return this.#spaces.get(JSON.stringify([owner, project, space]));
  }

  /** Finds, makes or changes a space, or throws what is in the way; then nothing has changed. */
  open(call: SpaceCall, memory: ProcessMemory): OpenedSpace {
    const { owner, project, structure, structureText } = call;
    const key = JSON.stringify([owner, project, call.space]);
    const known = this.#spaces.get(key);
    if (known === undefined && !call.makes && structure?.initialData.length === 0) {
      const none = this.#make(call);
      return { space: none, view: viewOf(none.stored, structure) };
    }
    const space = known ?? this.#make(call);
    this.#projects.add(JSON.stringify([owner, project]));
    this.#spaces.set(key, space);
    if (structure === null) return { space, view: space.stored };
    if (call.mutate) this.#retype(space, structure);
    const takenKey = JSON.stringify([key, structureText]);
    const again = structureText !== null && memory.taken.has(takenKey);
    // only what would be missing is changed by a structure that was seen before, so that clients do not take turns
    const settled =
      again && (hasAll(space.stored, structure) || this.#keepsStrict(key, space, structure, memory));
    const before = space.stored;
    if (!settled) this.#change(key, space, call, structure, again ? memory : null);
    if (call.mutate && structure.initialData.length > 0 && !space.begun) {
      try {
        // the first that names records decides
        if (space.records.length === 0) space.records = beginning(structure.initialData, space.stored);
      } catch (error) {
        space.stored = before;
        throw error;
      }
      space.begun = true;
    }
    if (call.mutate && structureText !== null) memory.taken.add(takenKey);
    return { space, view: viewOf(space.stored, structure) };
  }

  #make({ owner, project, structure, createProject, createSpace }: SpaceCall): ModelSpace {
    const missing: Refusal[] = [];
    if (!createProject && !this.#projects.has(JSON.stringify([owner, project]))) {
      missing.push(refusal('project_not_found', [`'${project}'`], 404));
    }
    if (structure === null || !createSpace) missing.push(refusal('record_space_not_found', [], 404));
    throwAny(missing);
    const stored = { ...(structure as ModelStructure), initialData: [] };
    const items = (structure as ModelStructure).initialData;
    return { stored, begun: items.length > 0, records: beginning(items, stored) };
  }

  #change(
    key: string,
    space: ModelSpace,
    { mutate, sets }: SpaceCall,
    structure: ModelStructure,
    /** Of a process to which this is a way back; null otherwise. */
    turning: ProcessMemory | null,
  ): void {
    const merged = mergedStructure(space.stored, structure, mutate, sets);
    if ('conflicts' in merged) throw new Refused([conflict(merged.conflicts)]);
    if (merged.structure === space.stored) return;
    if (turning !== null && JSON.stringify(merged.structure) !== JSON.stringify(space.stored)) {
      turning.turns.set(key, (turning.turns.get(key) ?? 0) + 1);
    }
    throwAny(conflicting(this.#broken(space, structure, merged.structure)));
    space.stored = merged.structure;
  }

  /** Fields get other types where their values are some of those as well; then nothing else is in the way. */
  #retype(space: ModelSpace, structure: ModelStructure): void {
    const changed = retyped(space.stored, structure);
    if (changed.length === 0) return;
    const names: string[] = [];
    const values = new Map<ModelRecord, Map<string, ModelValue>>();
    for (const field of changed) {
      const from = bySlug(space.stored, field.slug) as ModelField;
      const converted: ModelValue[] = [];
      for (const record of space.records) {
        const value = record.values.get(field.slug);
        if (value === undefined) continue;
        const other = from.hashed ? null : convertedValue(from.type, field.type, value);
        if (other === null) names.push(from.name);
        else {
          converted.push(other);
          values.set(record, (values.get(record) ?? new Map()).set(field.slug, other));
        }
      }
      const unique = from.unique || field.unique;
      if (unique && new Set(converted).size < converted.length) names.push(from.name);
    }
    const rest = withTypesOf(structure, space.stored);
    const merged = mergedStructure(space.stored, rest, true, false);
    names.push(...('conflicts' in merged ? merged.conflicts : this.#broken(space, rest, merged.structure)));
    throwAny(conflicting(names));
    for (const [record, others] of values) for (const [slug, value] of others) record.values.set(slug, value);
    const fields = space.stored.fields.map((field) => {
      const to = changed.find(({ slug }) => slug === field.slug);
      return to === undefined ? field : { ...field, type: to.type, defaultValue: to.defaultValue };
    });
    space.stored = { ...space.stored, fields };
  }

  /** Fields whose stored values do not obey a rule that is switched on. */
  #broken(space: ModelSpace, structure: ModelStructure, after: ModelStructure): string[] {
    const lacking = turnedOn(space.stored, after, 'required')
      .filter(({ slug }) => space.records.some(({ values }) => !values.has(slug)))
      .map(({ name }) => name);
    const repeated = turnedOn(space.stored, after, 'unique')
      .filter(
        (field) =>
          takenFields(
            { ...structure, fields: [field] },
            [],
            space.records.map(({ values }) => values),
          ).length > 0,
      )
      .map(({ name }) => name);
    return [...lacking, ...repeated];
  }

  /** After many turns a structure that would only lift rules no longer does. */
  #keepsStrict(
    key: string,
    { stored }: ModelSpace,
    structure: ModelStructure,
    { turns }: ProcessMemory,
  ): boolean {
    return (
      (turns.get(key) ?? 0) >= turnLimit &&
      retyped(stored, structure).length === 0 &&
      turnedOn(stored, structure, 'required').length + turnedOn(stored, structure, 'unique').length === 0
    );
  }
}

function conflicting(names: readonly string[]): Refusal[] {
  return names.length === 0 ? [] : [conflict(names)];
}

function conflict(names: readonly string[]): Refusal {
  return refusal(
    'structure_conflict',
    [...new Set(names)].map((name) => `'${name}'`),
  );
}

/** The records that a space begins with. */
function beginning(items: readonly unknown[], stored: ModelStructure): ModelRecord[] {
  const read = items.map((item) => (isRecordBody(item) ? readNew(item, stored) : null));
  const wrong = read.some((item) => item === null || item.problems.length > 0);
  const records = read.map((item) => newRecord(item?.values ?? new Map()));
  const values = records.map((record) => record.values);
  if (wrong || takenFields(stored, [], values).length > 0) {
    throw new Refused([refusal('invalid_structure', ['initialData'])]);
  }
  return records;
}
