import { pathOf } from './export-paths.ts';
import { RefusedCall, type RemoteServer } from './remote-server.ts';
import type { ExportedFile } from './stored-export.ts';

/** What a project says about its files, and where an export has it. */
export const fileSettings = [
  { name: 'rules', what: 'rules of files', path: pathOf.fileRules },
  { name: 'presets', what: 'presets of pictures', path: pathOf.imagePresets },
] as const;
export type FileSetting = (typeof fileSettings)[number];

export function settingAddress({ name }: FileSetting, project: string): string {
  return `/_projects_/${encodeURIComponent(project)}/files/${name}`;
}

/** Null: the project says nothing, or the server is of an earlier version. */
export async function readSetting(
  server: RemoteServer,
  setting: FileSetting,
  project: string,
): Promise<unknown> {
  const answer = await server.find<Record<string, object | null>>(settingAddress(setting, project));
  const value = answer?.[setting.name] ?? null;
  return value === null || Object.keys(value).length === 0 ? null : value;
}

/** The user who uploaded a file; undefined: none. */
export function ownerOf({ headers }: Response): string | undefined {
  return headers.get('sluice-file-owner') ?? undefined;
}

export interface RemoteFile {
  readonly size: number;
  /** Lower-case hexadecimal digits; null: the server computes no digests. */
  readonly sha256: string | null;
  readonly owner: string | undefined;
}

export function fileAddress(project: string, name: string): string {
  return `/_f_/${encodeURIComponent(project)}/${encodeURIComponent(name)}`;
}

/** Whether a call was refused because there is no such file, or because it has expired. */
export function isGone(error: unknown): boolean {
  return error instanceof RefusedCall && (error.status === 404 || error.status === 410);
}

/** Whether the time of an exported file is over. */
export function hasExpired({ expiresAt }: Pick<ExportedFile, 'expiresAt'>): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now();
}

/** What the server reports about a file; null: it has no such file. */
export async function fileAt(
  server: RemoteServer,
  project: string,
  name: string,
): Promise<RemoteFile | null> {
  try {
    return await server.call(fileAddress(project, name), { method: 'HEAD' }, async (answer) => {
      const { headers } = answer;
      // RFC 9530 section 3
      const base64 = /\bsha-256=:([A-Za-z0-9+/=]+):/.exec(headers.get('repr-digest') ?? '')?.[1];
      const sha256 = base64 === undefined ? null : Buffer.from(base64, 'base64').toString('hex');
      return { size: Number(headers.get('content-length')), sha256, owner: ownerOf(answer) };
    });
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Whether a file is the exported one: by its digest if the server has one, otherwise by its size. */
export function isCopyOf({ size, sha256 }: RemoteFile, file: ExportedFile): boolean {
  return size === file.size && (sha256 ?? file.sha256) === file.sha256;
}
