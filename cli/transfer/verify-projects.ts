import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { CommandError } from '#kernel/errors/command-error.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import type { TableSums } from './compare-tables.ts';
import { pathOf } from './export-paths.ts';
import { fetchRecords, filesAtOnce, pagesOf, type TransferDeps } from './export-projects.ts';
import { FolderPlace } from './folder-place.ts';
import {
  type FileSetting,
  fileAddress,
  fileAt,
  fileSettings,
  hasExpired,
  readSetting,
} from './remote-file.ts';
import { bytesOf } from './remote-server.ts';
import { readSpace } from './remote-space.ts';
import { DamagedItem, digestOf, type ExportedFile, type Manifest } from './stored-export.ts';

type VerifyDeps = TransferDeps & { readonly manifest: Manifest };

/**
 * Compares an export with a server, and stores nothing there.
 * @returns a line for each record space and file that differs, and each damaged item
 */
export async function verifyProjects(deps: VerifyDeps): Promise<string[]> {
  const { stored, manifest, progress } = deps;
  const differences: string[] = [];
  const note = async (what: string, compared: Promise<string | null>, bytes = 0): Promise<void> => {
    const difference = await compared.catch((error: unknown) => {
      if (error instanceof DamagedItem) return error.message;
      throw error;
    });
    if (difference !== null) differences.push(`${what}: ${difference}`);
    progress.done(`${what}: ${difference ?? 'equal'}`, bytes);
  };
  for (const { slug: project, spaces } of manifest.projects) {
    for (const slug of spaces) await note(`${project}/${slug}`, spaceDifference(deps, project, slug));
    for (const setting of fileSettings)
      await note(`${project}, ${setting.what}`, settingDifference(deps, setting, project));
    for await (const files of pagesOf(stored.files(project)))
      await forEachAtOnce(files, filesAtOnce, (file) =>
        note(`${project}/${file.name}`, fileDifference(deps, project, file), file.size),
      );
  }
  return differences;
}

/** Null: there is none. */
async function spaceDifference(deps: VerifyDeps, project: string, slug: string): Promise<string | null> {
  const { server, stored } = deps;
  const exported = await stored.json(pathOf.structure(project, slug));
  const records = await stored.present(pathOf.records(project, slug));
  const space = await readSpace(server, project, slug);
  if (space === null) return 'the server has no such record space';
  if (!isDeepStrictEqual(space.exported, exported)) return 'its structure or its rules differ';
  const work = new FolderPlace(await stored.place.workFolder());
  try {
    const there = await fetchRecords(deps, project, slug, work);
    const paths = [await stored.localFile(records.path, work), work.absolute(there.path)];
    const [own, remote] = await sumsOf(paths, server.signal);
    if (own.columns !== remote.columns) return `it has other columns: ${remote.columns}, not ${own.columns}`;
    if (own.rows !== remote.rows) return `it has ${remote.rows} records, not ${own.rows}`;
    return own.sum === remote.sum ? null : `its ${own.rows} records have other values`;
  } finally {
    await rm(work.name, { recursive: true, force: true });
  }
}

/** Null: there is none. */
async function settingDifference(
  { server, stored }: VerifyDeps,
  setting: FileSetting,
  project: string,
): Promise<string | null> {
  const path = setting.path(project);
  const exported = (await stored.done(path)) === null ? null : await stored.json(path);
  return isDeepStrictEqual(await readSetting(server, setting, project), exported) ? null : 'they differ';
}

/** Null: there is none. */
async function fileDifference(deps: VerifyDeps, project: string, file: ExportedFile): Promise<string | null> {
  const { server, stored } = deps;
  await stored.checked(pathOf.file(project, file.name));
  const there = await fileAt(server, project, file.name);
  if (there === null) return hasExpired(file) ? null : 'the server has no such file';
  if (there.owner !== file.owner) return 'another user uploaded it';
  if (there.size !== file.size) return `it has ${there.size} bytes, not ${file.size}`;
  const digest = (answer: Response): Promise<string> => digestOf(bytesOf(answer));
  const sha256 = there.sha256 ?? (await server.call(fileAddress(project, file.name), {}, digest));
  return sha256 === file.sha256 ? null : 'it has other bytes';
}

/** Runs in a separate process, which frees the engine's memory. */
async function sumsOf(paths: readonly string[], signal: AbortSignal): Promise<[TableSums, TableSums]> {
  const script = new URL(`./compare-tables${extname(import.meta.url)}`, import.meta.url);
  const child = fork(fileURLToPath(script), paths, { signal, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let said = '';
  child.stderr?.on('data', (text: Buffer) => {
    said = (said + text.toString()).slice(-1000);
  });
  const answers: TableSums[] = [];
  child.on('message', (sums) => answers.push(sums as TableSums));
  const [status] = await once(child, 'exit');
  const [own, remote] = answers;
  if (own === undefined || remote === undefined)
    throw new CommandError(`the records can't be compared: ${said.trim() || `status ${status}`}`);
  return [own, remote];
}
