import { backOff, SluiceError } from './client.ts';
import { keepAddress } from './keep-address.ts';
import type { LargeUpload } from './upload.ts';

const gone = /^(not_found|upload_expired)$/;

/**
 * Waits until an upload may go on. Throws the failure if it is of no use.
 * @returns its address; null: it is gone, and begins anew
 */
export async function resumeAfter(
  failure: unknown,
  upload: LargeUpload,
  address: string | null,
  tries: number,
): Promise<string | null> {
  const { client, bytes, signal } = upload;
  if (!(failure instanceof SluiceError)) throw failure;
  if (address && bytes.isRepeatable && gone.test(failure.code) && tries < client.retries)
    return keepAddress(upload, null);
  await backOff(client, failure, tries, signal);
  return address;
}
