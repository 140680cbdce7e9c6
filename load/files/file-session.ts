import type { Answer, AnswerOptions, RequestBody } from '../http/answer.ts';

/** What sends requests to one origin: a Connection, or a pool of them. */
export interface Sender {
  send(head: string | Buffer, body?: RequestBody, options?: AnswerOptions): Promise<Answer>;
}

/** Where files go, and what they are made from. */
export interface FileSession {
  readonly seed: number;
  /** Of the server, without a path. */
  readonly url: string;
  /** Path of the files of a project, without a slash at its end. */
  readonly base: string;
  readonly token: string | null;
  /** Of the server, or of a bucket that it names. */
  senderOf(origin: string): Sender;
  /** What downloads choose from: by the name of the request, and then by size. */
  readonly files: StoredFiles;
}

/** Cloneable. */
export type StoredFiles = Readonly<Record<string, readonly (readonly StoredFile[])[]>>;

/** A file that the server has acknowledged. Its bytes follow from the index. */
export interface StoredFile {
  readonly index: number;
  readonly bytes: number;
  /** Of the server. */
  readonly path: string;
}

/** A file in a sentence: a query may have a signature, by which everybody could read the file. */
export function nameOf({ index, path }: StoredFile): string {
  return `file ${index} (${path.replace(/\?.*/s, '')})`;
}

/** A file that is to be stored. */
export interface SeedFile {
  readonly index: number;
  readonly bytes: number;
  readonly name: string;
}

/** Files of a load begin with this name. */
export const filePrefix = 'sluice-load-';

export function seedFile(seed: number, index: number, bytes: number): SeedFile {
  return { index, bytes, name: `${filePrefix}${seed}-${index}.bin` };
}
