import type { RemoteServer } from './remote-server.ts';

/** What recreates a record space: structure.json of an export. */
export interface ExportedSpace {
  /** In the format of the `structure` header. */
  readonly structure: Readonly<Record<string, unknown>>;
  /** In the format of `PUT .../rules`; null: there are no rules. */
  readonly rules: unknown;
}

export interface RemoteSpace {
  readonly exported: ExportedSpace;
  /** Null: its store does not respond. */
  readonly records: number | null;
  readonly createdAt: string;
}

/** The path of a space's records. */
export function spacePath(project: string, slug: string): string {
  return `/${encodeURIComponent(project)}/${encodeURIComponent(slug)}`;
}

/** The path of a space itself. */
export function spaceAddress(project: string, slug: string): string {
  return `/_projects_/${encodeURIComponent(project)}/spaces/${encodeURIComponent(slug)}`;
}

/** Null: the server has no such space. */
export async function readSpace(
  server: RemoteServer,
  project: string,
  slug: string,
): Promise<RemoteSpace | null> {
  const address = spaceAddress(project, slug);
  const space = await server.find<Omit<RemoteSpace, 'exported'> & ExportedSpace>(address);
  const ruled = await server.find<Pick<ExportedSpace, 'rules'>>(`${address}/rules`);
  if (space === null || ruled === null) return null;
  const { structure, records, createdAt } = space;
  return { exported: { structure, rules: ruled.rules }, records, createdAt };
}
