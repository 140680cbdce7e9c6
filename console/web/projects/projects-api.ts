import { address } from '../address.ts';
import { callApi, callJson } from '../api.ts';
import type { KeysetPage } from '../parts/load.ts';
import type { Field, SpaceSettings, Structure } from './structure.ts';

export interface Project {
  readonly slug: string;
  readonly createdAt: string;
  /** Number of record spaces. */
  readonly spaces: number;
}

export interface Space extends Structure {
  readonly createdAt: string;
  /** Null while the store is unavailable. */
  readonly records: number | null;
  readonly bytes: number | null;
  /** Null if there is only one store. */
  readonly store: { readonly name: string; readonly available: boolean } | null;
  /** Only in `getSpace`. */
  readonly structure?: SpaceSettings;
}

/** A change of a field's type rewrites the records, for up to a minute. */
const changeMs = 90_000;

/** The largest page of the API's lists. */
const pageLimit = 200;

export async function listProjects(after: string | null, signal: AbortSignal): Promise<KeysetPage<Project>> {
  const query = { limit: pageLimit, after: after ?? undefined };
  const { projects, next } = await callJson<{ projects: Project[]; next: string | null }>('/_projects_', {
    query,
    signal,
  });
  return { items: projects, next };
}

export async function listSpaces(
  project: string,
  search: string,
  after: string | null,
  signal: AbortSignal,
): Promise<KeysetPage<Space>> {
  const query = { limit: 50, after: after ?? undefined, search: search === '' ? undefined : search };
  const { spaces, next } = await callJson<{ spaces: Space[]; next: string | null }>(
    address`/_projects_/${project}/spaces`,
    { query, signal },
  );
  return { items: spaces.map(withLists), next };
}

export async function getSpace(project: string, space: string, signal: AbortSignal): Promise<Space> {
  return withLists(await callJson<Space>(address`/_projects_/${project}/spaces/${space}`, { signal }));
}

/** Fields as the pages have them: a FILE with `many` is of a type of its own. */
function withLists(space: Space): Space {
  const fields = space.fields.map((field) =>
    field.many === true ? { ...field, type: 'FILES' as const } : field,
  );
  return { ...space, fields };
}

function declared(field: Field): Field {
  return field.type === 'FILES' ? { ...field, type: 'FILE', many: true } : { ...field, many: false };
}

/** @param path of a project, a record space or a field, below /_projects_ */
export async function drop(path: string): Promise<void> {
  await callApi(`/_projects_${path}`, { method: 'DELETE' });
}

/** Adds fields or changes them. All other fields and the settings stay as they are. */
export async function changeStructure(
  project: string,
  { slug, name, description }: Omit<Structure, 'fields'>,
  recordStructure: readonly Field[],
  settings: SpaceSettings = {},
): Promise<void> {
  const json = { name, description, recordStructure: recordStructure.map(declared), ...settings };
  await callApi(address`/${project}/${slug}/set-structure`, { method: 'POST', json, timeoutMs: changeMs });
}
