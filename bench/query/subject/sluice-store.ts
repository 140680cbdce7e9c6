import { join } from 'node:path';
import type { Child } from '../../upload/harness/child-process.ts';
import { progress } from '../../upload/harness/progress.ts';
import {
  makeTemporaryDirectory,
  removeTemporaryDirectory,
} from '../../upload/harness/temporary-directory.ts';
import { authorization, startService } from '../direct-store.ts';
import { recordsFrom, structureOf } from '../requests.ts';

/** Records per request when a store is filled. */
const arraySize = 5000;
const keptIds = 20_000;

/** A data directory with records of one space, for one process after another. */
export interface SluiceStore {
  readonly rows: number;
  /** Of some of its records. */
  readonly ids: readonly string[];
  readonly engineFolder: string;
  start(env?: Readonly<Record<string, string>>, preload?: readonly string[]): Promise<Child>;
  remove(): void;
}

export async function makeSluiceStore(rows: number): Promise<SluiceStore> {
  const folder = makeTemporaryDirectory();
  const start: SluiceStore['start'] = (env, preload) =>
    startService(folder, env, preload === undefined ? {} : { preload });
  const child = await start();
  try {
    const ids = await fillSpace(child.ready, rows);
    const engineFolder = join(folder, 'data', 'chdb');
    return { rows, ids, engineFolder, start, remove: () => removeTemporaryDirectory(folder) };
  } finally {
    await child.stop();
  }
}

/** Stores this many records in the space `people`. @returns the ids of some */
export async function fillSpace(url: string, rows: number): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < rows; from += arraySize) {
    if (from % 250_000 === 0) progress(`${from} of ${rows} records are stored`);
    const stored = await storeRecords(url, 'people', from, Math.min(arraySize, rows - from));
    if (ids.length < keptIds) ids.push(...stored);
  }
  return ids;
}

/** @returns their ids */
export async function storeRecords(
  url: string,
  slug: string,
  from: number,
  count: number,
): Promise<string[]> {
  const answer = await fetch(`${url}/bench/${slug}`, {
    method: 'POST',
    headers: { authorization, structure: structureOf(slug), 'content-type': 'application/json' },
    body: JSON.stringify(recordsFrom(from, count)),
  });
  if (answer.status !== 200) throw new Error(`filling ${slug}: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { id: string }[]).map(({ id }) => id);
}
