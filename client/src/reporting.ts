import type { Client } from './client.ts';
import { fetchWithProgress } from './fetch-with-progress.ts';
import type { Upload } from './upload.ts';

/** The client of an upload, which reports the bytes of a request as they are sent where the platform can. */
export function reporting(
  { client, onProgress }: Pick<Upload, 'client' | 'onProgress'>,
  onSent: (bytes: number) => void,
): Client {
  const reported = client.fetch ?? (onProgress && fetchWithProgress(onSent));
  return reported ? { ...client, fetch: reported } : client;
}
