import { effect, signal } from '@preact/signals';
import { session } from '../session.ts';

/** An upload that the server has in part. The browser remembers it, so that it goes on after a reload. */
export interface UnfinishedUpload {
  /** Path of the upload at the API. */
  readonly address: string;
  readonly project: string;
  /** Of the file: by these it is known again. */
  readonly name: string;
  readonly size: number;
  readonly lastModified: number;
  /** When the server forgets it. */
  readonly expires: string;
}

/** Of the account that is logged in, also those of this page that go on. */
export const unfinishedUploads = signal<readonly UnfinishedUpload[]>([]);

// a key each, so that pages that are open beside this one change nothing of each other
const prefix = (): string => `upload ${session.peek()?.account?.id} `;

export function remember(upload: UnfinishedUpload): void {
  try {
    localStorage.setItem(prefix() + upload.address, JSON.stringify(upload));
  } catch {
    // the storage is full: it goes on after a pause, and not after a reload
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
