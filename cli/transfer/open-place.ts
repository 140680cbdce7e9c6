import { resolve } from 'node:path';
import { CommandError } from '#kernel/errors/command-error.ts';
import { type BucketAddress, BucketPlace, bucketAddress } from './bucket-place.ts';
import type { ExportPlace } from './export-place.ts';
import { FolderPlace } from './folder-place.ts';

/** A folder, or an address of a bucket. */
export type PlaceOrder = { readonly folder: string } | { readonly address: BucketAddress };

/** Reads the place of a command: its one FOLDER, or the address of an option. @param option with its name, such as `--to` */
export function readPlace(
  positionals: readonly string[],
  option: { readonly name: string; readonly value: string | undefined },
): PlaceOrder {
  const [folder, ...rest] = positionals;
  if (option.value !== undefined) {
    if (folder !== undefined)
      throw new CommandError(`either FOLDER or ${option.name} is expected; see --help`);
    return { address: bucketAddress(option.value) };
  }
  if (folder === undefined || rest.length > 0)
    throw new CommandError(`one FOLDER, or ${option.name} with an address, is expected; see --help`);
  if (folder.startsWith('s3:'))
    throw new CommandError(`${folder} is an address: write it after ${option.name}`);
  return { folder: resolve(folder) };
}

/** Runs work with a place, and closes it. */
export async function withPlace(
  order: PlaceOrder,
  deps: { readonly signal: AbortSignal; readonly warn: (text: string) => void },
  work: (place: ExportPlace) => Promise<void>,
): Promise<void> {
  const place =
    'folder' in order
      ? new FolderPlace(order.folder)
      : await BucketPlace.open(order.address, { ...deps, env: process.env });
  try {
    await work(place);
  } finally {
    await place.close();
  }
}
