import { createHash } from 'node:crypto';

/** Most bytes of a path segment. File systems allow 255. */
const longestPart = 200;

/** The paths in an export. */
export const pathOf = {
  structure: (project: string, space: string) =>
    `${safePart(project)}/spaces/${safePart(space)}/structure.json`,
  records: (project: string, space: string) =>
    `${safePart(project)}/spaces/${safePart(space)}/records.parquet`,
  fileRules: (project: string) => `${safePart(project)}/file-rules.json`,
  imagePresets: (project: string) => `${safePart(project)}/image-presets.json`,
  files: (project: string) => `${safePart(project)}/files.ndjson`,
  file: (project: string, name: string) => `${safePart(project)}/files/${percentEncoded(name)}`,
};

/** A file name that is also unique on case-insensitive file systems. */
export function safePart(text: string): string {
  const safe = percentEncoded(text).replace(/(%[0-9A-F]{2})|([A-Z])/g, (_, code: string, letter: string) =>
    code === undefined ? `%${letter.charCodeAt(0).toString(16)}` : code.toLowerCase(),
  );
  if (safe.length <= longestPart) return safe;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return `${safe.slice(0, longestPart - 40).replace(/%.?$/, '')}~${digest}`;
}

/** Prevents hidden files and paths out of the folder. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
    .replace(/^\./, '%2e');
}

/** Whether a path is below a project of an export, as all of `pathOf` are. `--again` removes what the journal names. */
export function isItemPath(path: unknown): path is string {
  return typeof path === 'string' && /^[^./\\\0][^/\\\0]*(?:\/[^./\\\0][^/\\\0]*)+$/.test(path);
}
