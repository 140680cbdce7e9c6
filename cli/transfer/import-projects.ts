import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { CommandError } from '#kernel/errors/command-error.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import { pathOf } from './export-paths.ts';
import { filesAtOnce, pagesOf, type TransferDeps } from './export-projects.ts';
import {
  type FileSetting,
  fileAddress,
  fileAt,
  fileSettings,
  hasExpired,
  isCopyOf,
  settingAddress,
} from './remote-file.ts';
import { type FinishedJob, type ImportJob, RemoteJobs } from './remote-jobs.ts';
import { type ExportedSpace, type RemoteSpace, readSpace, spaceAddress, spacePath } from './remote-space.ts';
import { DamagedItem, type ExportedFile, type Manifest } from './stored-export.ts';

type ImportDeps = TransferDeps & { readonly manifest: Manifest };

/** A record space of the export, and its state on the server. */
interface SpaceImport {
  readonly project: string;
  readonly slug: string;
  readonly exported: ExportedSpace;
  /** The finished or running import of its records; null: it has not begun. */
  readonly job: ImportJob | null;
  /** The last import, as part of the idempotency key, so that a failed or undone import can be repeated. */
  readonly after: string;
}

/** Imports projects of an export into a server, and continues an interrupted import. */
export async function importProjects(deps: ImportDeps): Promise<void> {
  const { server, stored, manifest, progress } = deps;
  const jobs = await RemoteJobs.of(server);
  for (const { slug: project, spaces } of manifest.projects) {
    const places: SpaceImport[] = [];
    // nothing is changed before everything was checked
    for (const slug of spaces) places.push(await placeOf(deps, jobs, project, slug));
    for (const place of places) await makeSpace(deps, place);
    // rules may name another space of the project
    for (const { slug, exported } of places)
      if (exported.rules !== null) await setRules(deps, project, slug, exported.rules);
    // before the records that name them
    for await (const files of pagesOf(stored.files(project)))
      await forEachAtOnce(files, filesAtOnce, (file) => importFile(deps, project, file));
    for (const place of places) {
      const { state, inserted } = await importRecords(deps, jobs, place);
      progress.done(`${project}/${place.slug}: ${inserted} records, ${state}`);
    }
    for (const setting of fileSettings) await importSetting(deps, setting, project);
    progress.say(`${project} complete; record spaces: ${spaces.length}`);
  }
  server.signal.throwIfAborted();
}

/** Plans the import of a space. Rejects with a CommandError if it has records from elsewhere. */
async function placeOf(
  deps: ImportDeps,
  jobs: RemoteJobs,
  project: string,
  slug: string,
): Promise<SpaceImport> {
  const { server, stored } = deps;
  const exported = (await stored.json(pathOf.structure(project, slug))) as ExportedSpace;
  const item = await stored.present(pathOf.records(project, slug));
  const space = await readSpace(server, project, slug);
  const last = jobs.last(project, slug, item.bytes);
  const job = last !== null && space !== null && counts(last, space) ? last : null;
  if (job === null && space !== null && space.records !== 0)
    throw new CommandError(
      space.records === null
        ? `${project}/${slug}: the store of its records does not respond`
        : `${project}/${slug} has ${space.records} records that are not from this export: drop the record space first`,
    );
  return { project, slug, exported, job, after: last?.id ?? '' };
}

/** Whether the space has the records of an import, or will have them. */
function counts({ state, inserted, createdAt }: ImportJob, space: RemoteSpace): boolean {
  // the processes' clocks differ a little
  const isOfEarlierSpace = Date.parse(createdAt) < Date.parse(space.createdAt) - 60_000;
  if (isOfEarlierSpace || state === 'failed' || state === 'cancelled') return false;
  return state !== 'done' || space.records !== 0 || inserted === 0;
}

async function makeSpace(deps: ImportDeps, { project, slug, exported }: SpaceImport): Promise<void> {
  const { server } = deps;
  const there = await readSpace(server, project, slug);
  if (isDeepStrictEqual(there?.exported.structure, exported.structure)) return;
  await server.json(`${spacePath(project, slug)}/set-structure`, {
    method: 'POST',
    headers: {
      'auto-create-project': 'true',
      'auto-create-record-space': 'true',
      'clear-all-spaces': 'false',
      mutate: 'true',
    },
    body: exported.structure,
  });
  const made = await readSpace(server, project, slug);
  if (!isDeepStrictEqual(made?.exported.structure, exported.structure))
    throw new CommandError(
      `${project}/${slug} has another structure on the server: drop the record space first`,
    );
}

async function setRules(deps: ImportDeps, project: string, slug: string, rules: unknown): Promise<void> {
  await deps.server.json(`${spaceAddress(project, slug)}/rules`, {
    method: 'PUT',
    body: rules,
  });
}

async function importSetting(
  { server, stored }: ImportDeps,
  setting: FileSetting,
  project: string,
): Promise<void> {
  const path = setting.path(project);
  if ((await stored.done(path)) === null) return;
  await server.json(settingAddress(setting, project), { method: 'PUT', body: await stored.json(path) });
}

async function importRecords(deps: ImportDeps, jobs: RemoteJobs, place: SpaceImport): Promise<FinishedJob> {
  const { server, stored, manifest, progress } = deps;
  const { project, slug, after } = place;
  const what = `${project}/${slug}`;
  const show = ({ bytesRead, bytes }: ImportJob): void =>
    progress.moved(`${what}: ${Math.floor((100 * bytesRead) / Math.max(bytes, 1))} % read`, 0);
  if (place.job !== null) return jobs.finished(place.job, show);
  const item = await stored.present(pathOf.records(project, slug));
  const { path, bytes, sha256 } = item;
  const key = createHash('sha256')
    .update(JSON.stringify([manifest.id, path, sha256, after]))
    .digest('hex');
  const choices = 'format=parquet&keep=id,createdAt,updatedAt,hashes';
  const address = `${spacePath(project, slug)}/_import_?${choices}`;
  const job = await server.json<ImportJob>(address, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.apache.parquet', 'idempotency-key': key },
    bytes: { size: bytes, read: () => Readable.from(stored.read(item)) },
  });
  progress.moved(what, bytes);
  return jobs.finished(job, show);
}

async function importFile(deps: ImportDeps, project: string, file: ExportedFile): Promise<void> {
  const { server, stored, progress } = deps;
  const { name, originalName, contentType, size, createdAt, sha256, owner, folder, path } = file;
  if (hasExpired(file)) return;
  const there = await fileAt(server, project, name);
  if (there !== null && isCopyOf(there, file)) return;
  const item = await stored.present(pathOf.file(project, name));
  if (item.bytes !== size || item.sha256 !== sha256)
    throw new DamagedItem(`${item.path} is not the file that ${pathOf.files(project)} names`);
  const expiresIn = lifetimeOf(file);
  const more = {
    ...(owner && { owner }),
    ...(expiresIn && { expiresIn }),
    ...(folder && path && { folder, path }),
  };
  const kept = new URLSearchParams({ originalName, createdAt, ...more });
  await server.json(`${fileAddress(project, name)}?${kept}`, {
    method: 'PUT',
    headers: {
      'content-type': contentType,
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    },
    bytes: { size, read: () => Readable.from(stored.read(item)) },
  });
  progress.done(`${project}/${name}`, size);
}

/** Seconds from its upload to its end; undefined: it stays. */
function lifetimeOf({ createdAt, expiresAt }: ExportedFile): string | undefined {
  return expiresAt && `${Math.ceil((Date.parse(expiresAt) - Date.parse(createdAt)) / 1000)}`;
}
