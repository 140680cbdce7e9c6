import type { FileRequest } from '../mix/mix.ts';
import { hashOf } from '../seed/hash.ts';
import type { Outcome } from '../targets/target.ts';
import { download } from './download.ts';
import { Exchange } from './exchange.ts';
import { type FileSession, type SeedFile, type StoredFile, seedFile } from './file-session.ts';
import { Refusal } from './refusal.ts';
import { uploadDirect } from './upload-direct.ts';
import { uploadByForm } from './upload-form.ts';
import { uploadByPut } from './upload-put.ts';
import { uploadByTus } from './upload-tus.ts';

const uploads = { form: uploadByForm, put: uploadByPut, tus: uploadByTus, direct: uploadDirect };

/** How a server stores a file. @returns the path of the stored file */
export type Upload = (exchange: Exchange, file: SeedFile, by: FileRequest['by']) => Promise<string>;

/** Choices of a number that have nothing to do with each other. */
const [ofSize, ofFile] = [1, 2];

/**
 * Performs the request with this number. An upload stores the file with the number as its index; a download reads one of
 * the files that were stored before, and compares it.
 */
export async function performFile(
  session: FileSession,
  request: FileRequest,
  number: number,
  signal: AbortSignal,
  upload: Upload = uploadToSluice,
): Promise<Outcome> {
  const exchange = new Exchange(session, signal);
  try {
    if (request.kind === 'download') return await performDownload(exchange, request, number);
    const bytes = request.sizes[sizeOf(session.seed, request, number)]?.bytes ?? 0;
    const path = await upload(exchange, seedFile(session.seed, number, bytes), request.by);
    return { ...good(exchange), stored: { kind: 'file', index: number, bytes, path } };
  } catch (error) {
    return { ...good(exchange), good: false, ...failureOf(error) };
  }
}

/** In the way that a request names: a Sluice has several. */
export const uploadToSluice: Upload = async (exchange, file, by) =>
  exchange.path(encodeURIComponent(await uploads[by](exchange, file)));

async function performDownload(exchange: Exchange, request: FileRequest, number: number): Promise<Outcome> {
  const { seed, files } = exchange.session;
  const choice = files[request.name]?.[sizeOf(seed, request, number)] ?? [];
  const file = choice[hashOf(seed, number, ofFile) % choice.length] as StoredFile;
  const wrong = await download(exchange, file);
  if (wrong === null) return good(exchange);
  return { ...good(exchange), good: false, code: 'wrong_bytes', wrong };
}

/** @returns which of the sizes */
function sizeOf(seed: number, { sizes }: FileRequest, number: number): number {
  let left = (hashOf(seed, number, ofSize) / 2 ** 32) * sizes.reduce((sum, { weight }) => sum + weight, 0);
  const index = sizes.findIndex(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  return Math.max(index, 0);
}

function good({ sentBytes, receivedBytes }: Exchange): Outcome {
  return { good: true, status: 200, code: null, sentBytes, receivedBytes };
}

/** What came of a request that threw. */
export function failureOf(error: unknown): { readonly status: number; readonly code: string } {
  if (error instanceof Refusal) return { status: error.status, code: error.code };
  const { code, name = 'error' } = error as { code?: string; name?: string };
  return { status: 0, code: code ?? (name === 'TimeoutError' ? 'timeout' : name) };
}
