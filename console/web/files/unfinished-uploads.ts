import { effect, signal } from '@preact/signals';
import { session } from '../session.ts';

/** An incomplete upload on the server. The browser remembers it, so that it can be resumed after a reload. */
export interface UnfinishedUpload {
  /** Path of the upload. */
  readonly address: string;
  readonly project: string;
  /** Properties that identify the file. */
  readonly name: string;
  readonly size: number;
  readonly lastModified: number;
  /** When the server drops it. */
  readonly expires: string;
}

/** Unfinished uploads of this account, including those under way on this page. */
export const unfinishedUploads = signal<readonly UnfinishedUpload[]>([]);

// one key for each upload, so that several open pages do not overwrite each other
const prefix = (): string => `upload ${session.peek()?.account?.id} `;

export function remember(upload: UnfinishedUpload): void {
  try {
    localStorage.setItem(prefix() + upload.address, JSON.stringify(upload));
  } catch {
    // the storage is full: the upload can still be paused, but not resumed after a reload
  }
  read();
}

export function forget(address: string): void {
  localStorage.removeItem(prefix() + address);
  read();
}

function read(): void {
  const found: UnfinishedUpload[] = [];
  for (const key of Object.keys(localStorage)) {
    if (!key.startsWith(prefix())) continue;
    const upload = parsed(localStorage.getItem(key));
    if (upload !== null && Date.parse(upload.expires) > Date.now()) found.push(upload);
    else localStorage.removeItem(key);
  }
  unfinishedUploads.value = found.sort((one, other) => one.name.localeCompare(other.name));
}

function parsed(text: string | null): UnfinishedUpload | null {
  try {
    return JSON.parse(text ?? 'null') as UnfinishedUpload | null;
  } catch {
    return null;
  }
}

effect(() => {
  session.value?.account?.id;
  read();
});
