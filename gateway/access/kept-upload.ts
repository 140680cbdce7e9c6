import { assertBackup } from '#auth/authenticate.ts';
import { isStoredName } from '#catalogue/file-key.ts';
import { invalidOptions, linkRefused, uploadConflict } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { queryParameter } from '#server/openapi/api-operation.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { UploadGrant } from './upload-access.ts';

/** What a copy of a file keeps: its `name`, which is in the address, and two of its properties. */
export interface KeptProperties {
  readonly id: string;
  readonly name: string;
  readonly originalName: string;
  readonly createdAt: Date;
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const idLength = 36;

export const keptParameters = [
  queryParameter(
    'originalName',
    'Of a copy: the file is stored under the `name` in the address, which a gateway made. Needs the grant `backup`',
  ),
  queryParameter('createdAt', 'Of a copy: when the file was uploaded'),
];

/** Null: the file is a new one. Throws 400 for parts of a copy alone. */
export function readKept({ query, params }: HttpRequest): KeptProperties | null {
  const asked = (wanted: string) => query.find(([name]) => name === wanted)?.[1];
  const [originalName, createdAt] = [asked('originalName'), asked('createdAt')];
  if (originalName === undefined && createdAt === undefined) return null;
  const { name = '' } = params;
  const problems: string[] = [];
  if (!isStoredName(name)) problems.push(`${shownName(name)} is not a name that a gateway gave to a file`);
  if (originalName === undefined) problems.push('originalName is missing');
  const time = timePattern.test(createdAt ?? '') ? Date.parse(createdAt as string) : Number.NaN;
  if (!(time >= 0 && time <= Date.now()))
    problems.push('createdAt should be a time of the past, such as 2026-11-27T13:57:26.150Z');
  if (problems.length > 0) throw invalidOptions(problems);
  const id = name.slice(0, idLength);
  return { id, name, originalName: originalName as string, createdAt: new Date(time) };
}

/** Throws 403 unless the sender may choose the name of a file. */
export function mustMayKeep({ link, grants }: UploadGrant, project: string): void {
  if (link !== undefined) throw linkRefused('The link is for new files');
  assertBackup(grants, 'beside spaces', { project });
}

/** An idempotent upload of a copy: the same one may come again. */
export class KeptUpload {
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

  /** The file that has the name. Throws 409 when it is of another account; null: there is none. */
  async earlier(signal: AbortSignal): Promise<CloudFile | null> {
    const files = await this.#cloudFiles.findByPrefixes([this.#name], signal);
    const file = files.find(({ name }) => name === this.#name) ?? null;
    if (file !== null && file.ownerId !== this.#ownerId) throw this.isAnother();
    return file;
  }

  /** The error for a file that is not the earlier one. */
  isAnother(): Error {
    return uploadConflict(`There is another file called ${shownName(this.#name)}`);
  }
}
