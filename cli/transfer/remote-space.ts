import type { RemoteServer } from './remote-server.ts';

/** What makes a record space again: structure.json of an export. */
export interface ExportedSpace {
  /** In the form of the `structure` header. */
  readonly structure: Readonly<Record<string, unknown>>;
  /** As `PUT .../rules` takes them; null: there are none. */
  readonly rules: unknown;
}

export interface RemoteSpace {
  readonly exported: ExportedSpace;
  /** Null: its store is away. */
  readonly records: number | null;
  readonly createdAt: string;
}

/** The address under which records are. */
export function spacePath(project: string, slug: string): string {
  return `/${encodeURIComponent(project)}/${encodeURIComponent(slug)}`;
}

/** The address under which an account's tokens see a space. */
export function spaceAddress(project: string, slug: string): string {
  return `/_projects_/${encodeURIComponent(project)}/spaces/${encodeURIComponent(slug)}`;
}

/** Null: there is no such space. */
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
