import { assertBackup } from '#auth/authenticate.ts';
import { invalidOptions, linkRefused, notAllowed, uploadConflict } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { queryParameter } from '#server/openapi/api-operation.ts';
import { type CloudFile, isThere } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { UploadGrant } from './upload-access.ts';

/** What the copy of a file keeps: its `name`, which is in the address, and two of its properties. */
export interface CopyProperties {
  readonly id: string;
  readonly name: string;
  readonly originalName: string;
  readonly createdAt: Date;
  /** Id of the user who uploaded the file; undefined: none. */
  readonly owner: string | undefined;
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const idLength = 36;
/** Ids of records, as imports keep them. */
const ownerPattern = /^[A-Za-z0-9_.~-]{1,64}$/;

export const copyParameters = [
  queryParameter(
    'originalName',
    'Of a copy: the file is stored under the `name` in the address, which a gateway made. Needs the grant `backup`',
  ),
  queryParameter('createdAt', 'Of a copy: when the file was uploaded'),
  queryParameter('owner', 'Of a copy: the id of the user who uploaded the file'),
];

/** Null: the file is new. Throws 400 if only some of the properties are sent. */
export function readCopy({ query, params }: HttpRequest): CopyProperties | null {
  const parameter = (wanted: string) => query.find(([name]) => name === wanted)?.[1];
  const originalName = parameter('originalName');
  const createdAt = parameter('createdAt');
  const owner = parameter('owner');
  if (originalName === undefined && createdAt === undefined && owner === undefined) return null;
  const { name = '' } = params;
  const problems: string[] = [];
  if (!isStoredName(name)) problems.push(`${shownName(name)} is not a name that a gateway gave to a file`);
  if (originalName === undefined) problems.push('originalName is missing');
  const time = timePattern.test(createdAt ?? '') ? Date.parse(createdAt as string) : Number.NaN;
  if (!(time >= 0 && time <= Date.now()))
    problems.push('createdAt should be a time in the past, such as 2026-11-27T13:57:26.150Z');
  if (owner !== undefined && !ownerPattern.test(owner)) problems.push('owner should be the id of a record');
  if (problems.length > 0) throw invalidOptions(problems);
  const id = name.slice(0, idLength);
  return { id, name, originalName: originalName as string, createdAt: new Date(time), owner };
}

/** Throws 403 unless the sender may choose the name of a file. */
export function assertMayCopy({ link, grants, bound }: UploadGrant, project: string): void {
  if (bound !== undefined) throw notAllowed('Rules of files allow no copies');
  if (link !== undefined) throw linkRefused('The link only takes new files');
  assertBackup(grants, 'beside spaces', { project });
}

/** An idempotent upload of a copy: it may be repeated. */
export class CopyUpload {
  readonly id: string;
  readonly #name: string;
  readonly #cloudFiles: Pick<CloudFiles, 'findByPrefixes'>;
  readonly #ownerId: string;

  constructor(
    cloudFiles: Pick<CloudFiles, 'findByPrefixes'>,
    { id, name, ownerId }: Pick<CloudFile, 'id' | 'name' | 'ownerId'>,
  ) {
    this.id = id;
    this.#name = name;
    this.#cloudFiles = cloudFiles;
    this.#ownerId = ownerId;
  }

  /** The stored file of this name; null: none. Throws 409 when it belongs to another account. */
  async earlier(signal: AbortSignal): Promise<CloudFile | null> {
    const files = await this.#cloudFiles.findByPrefixes([this.#name], signal);
    const file = files.find(({ name }) => name === this.#name) ?? null;
    if (file !== null && file.ownerId !== this.#ownerId) throw this.isAnother();
    if (file !== null && !isThere(file))
      throw uploadConflict(
        `${shownName(this.#name)} is ${file.trashedAt === undefined ? 'a file that has expired' : 'in the trash: restore it, or delete it with trash=false'}`,
      );
    return file;
  }

  /** The error for a file that differs from the stored one. */
  isAnother(): Error {
    return uploadConflict(`There is another file called ${shownName(this.#name)}`);
  }
}
