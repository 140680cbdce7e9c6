import { address, callApi, callJson } from '../api.ts';
import type { KeysetPage } from '../parts/load.ts';
import { type Field, type Structure, structureBody } from './structure.ts';

export interface Project {
  readonly slug: string;
  readonly createdAt: string;
  /** How many record spaces it has. */
  readonly spaces: number;
}

export interface Space extends Structure {
  readonly createdAt: string;
  /** As the engine knows them without counting. */
  readonly records: number;
  readonly bytes: number;
}

/** The most that the lists of the API answer at once. */
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
  return { items: spaces, next };
}

export function getSpace(project: string, space: string, signal: AbortSignal): Promise<Space> {
  return callJson<Space>(address`/_projects_/${project}/spaces/${space}`, { signal });
}

export async function dropProject(project: string): Promise<void> {
  await callApi(address`/_projects_/${project}`, { method: 'DELETE' });
}

export async function dropSpace(project: string, space: string): Promise<void> {
  await callApi(address`/_projects_/${project}/spaces/${space}`, { method: 'DELETE' });
}

/** @param field its slug */
export async function dropField(project: string, space: string, field: string): Promise<void> {
  await callApi(address`/_projects_/${project}/spaces/${space}/fields/${field}`, { method: 'DELETE' });
}

/** Adds fields or changes them. Those that are not named stay as they are. */
export async function changeFields(
  project: string,
  structure: Structure,
  fields: readonly Field[],
): Promise<void> {
  await callApi(address`/${project}/${structure.slug}/set-structure`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: structureBody(structure, fields),
  });
}
