import { join } from 'node:path';
import { type Child, startScript } from '../../upload/harness/child-process.ts';
import { progress } from '../../upload/harness/progress.ts';
import {
  makeTemporaryDirectory,
  removeTemporaryDirectory,
} from '../../upload/harness/temporary-directory.ts';
import { authorization, benchToken } from '../direct-store.ts';
import { recordsFrom, structureOf } from '../requests.ts';

/** Records of one request while a store is filled. */
const arraySize = 5000;
const keptIds = 20_000;

/** A data directory with records of one space, on which processes are started one after the other. */
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
  const start: SluiceStore['start'] = (env = {}, preload = []) =>
    startScript('main.ts', {
      preload,
      ipc: preload.length > 0,
      env: {
        UV_THREADPOOL_SIZE: '16',
        NODE_OPTIONS: '--max-semi-space-size=64',
        PORT: '0',
        DATA_DIR: join(folder, 'data'),
        BOOTSTRAP_TOKEN: benchToken,
        LOG_LEVEL: 'error',
        ...env,
      },
      ready: /^Sluice listens on (\S+)$/m,
    });
  const child = await start();
  const ids: string[] = [];
  try {
    for (let from = 0; from < rows; from += arraySize) {
      if (from % 250_000 === 0) progress(`${from} of ${rows} records are stored`);
      const stored = await storeRecords(child.ready, 'people', from, Math.min(arraySize, rows - from));
      if (ids.length < keptIds) ids.push(...stored);
    }
  } finally {
    await child.stop();
  }
  return {
    rows,
    ids,
    engineFolder: join(folder, 'data', 'chdb'),
    start,
    remove: () => removeTemporaryDirectory(folder),
  };
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
