import { isDeepStrictEqual } from 'node:util';
import { CommandError } from '#kernel/errors/command-error.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import { pathOf } from './export-paths.ts';
import type { ExportPlace } from './export-place.ts';
import type { Progress } from './progress.ts';
import { type FileSetting, fileAddress, fileSettings, isGone, ownerOf, readSetting } from './remote-file.ts';
import { bytesOf, CutTransfer, type RemoteServer } from './remote-server.ts';
import { readSpace, spacePath } from './remote-space.ts';
import {
  type DoneItem,
  type ExportedFile,
  type ExportedProject,
  type StoredExport,
  writeItem,
} from './stored-export.ts';

export interface TransferDeps {
  readonly server: RemoteServer;
  readonly stored: StoredExport;
  readonly progress: Progress;
}

/** Deadline for the first byte of a Parquet file, which the server completes before sending it. Milliseconds. */
const exportSilence = 1_800_000;
export const filesAtOnce = 4;
/** Of a Parquet file without a length, so that a bucket takes it in few enough parts. Bytes. */
const longestUnknown = 300e9;
/** How often a space is read again because its structure changed meanwhile. */
const mostReads = 5;

/** Exports projects. @param slugs empty: all of the account */
export async function exportProjects(
  deps: TransferDeps,
  slugs: readonly string[],
): Promise<ExportedProject[]> {
  const { server, progress } = deps;
  const wanted = [...slugs];
  if (slugs.length === 0)
    for await (const { slug } of server.list<{ slug: string }>('/_projects_?', 'projects')) wanted.push(slug);
  const exported: ExportedProject[] = [];
  for (const project of wanted) {
    const spaces: string[] = [];
    const list = `/_projects_/${encodeURIComponent(project)}/spaces?`;
    for await (const { slug } of server.list<{ slug: string }>(list, 'spaces')) {
      await exportSpace(deps, project, slug);
      spaces.push(slug);
    }
    for (const setting of fileSettings) await exportSetting(deps, setting, project);
    // after all records, so that every file is included that a record names
    const files = await exportFiles(deps, project);
    exported.push({ slug: project, spaces, files });
    progress.say(`${project} complete; record spaces: ${spaces.length}, files: ${files}`);
  }
  return exported;
}

async function exportSpace(deps: TransferDeps, project: string, slug: string): Promise<void> {
  const { server, stored, progress } = deps;
  const paths = [pathOf.structure(project, slug), pathOf.records(project, slug)] as const;
  const done = await Promise.all(paths.map((path) => stored.done(path)));
  if (done.every((item) => item !== null)) return;
  for (let reads = 1; ; reads++) {
    const before = await readSpace(server, project, slug);
    if (before === null) throw new CommandError(`${project}/${slug} was dropped meanwhile`);
    const records = await fetchRecords(deps, project, slug);
    // if the structure changed meanwhile, it may not match the records
    const after = await readSpace(server, project, slug);
    if (!isDeepStrictEqual(before.exported, after?.exported)) {
      if (reads === mostReads) throw new CommandError(`${project}/${slug}: its structure keeps changing`);
      continue;
    }
    const text = `${JSON.stringify(before.exported, null, 2)}\n`;
    await stored.note(await stored.write(paths[0], [Buffer.from(text)]), records);
    progress.done(`${project}/${slug}: ${records.bytes} bytes of records`);
    return;
  }
}

/** Fetches all records in one request, and so from one moment. @param place where they are written; absent: the export */
export function fetchRecords(
  deps: TransferDeps,
  project: string,
  slug: string,
  place: Pick<ExportPlace, 'write'> = deps.stored.place,
): Promise<DoneItem> {
  const { server } = deps;
  const path = pathOf.records(project, slug);
  const address = `${spacePath(project, slug)}/_export_.parquet?$hashes=true`;
  return server.call(address, { silence: exportSilence }, (answer) =>
    writeItem(place, path, counted(deps, `${project}/${slug}`, answer), {
      bytes: Number(answer.headers.get('content-length')) || longestUnknown,
      check(end) {
        if (end !== 'PAR1') throw new CutTransfer('a Parquet file arrived without its end');
      },
    }),
  );
}

/** A project that says nothing gets no file. */
async function exportSetting(
  { server, stored }: TransferDeps,
  setting: FileSetting,
  project: string,
): Promise<void> {
  const path = setting.path(project);
  if ((await stored.done(path)) !== null) return;
  const value = await readSetting(server, setting, project);
  if (value === null) return;
  await stored.note(await stored.write(path, [Buffer.from(JSON.stringify(value))]));
}

/** @returns the number of files */
async function exportFiles(deps: TransferDeps, project: string): Promise<number> {
  const { server, stored } = deps;
  const index = pathOf.files(project);
  let count = 0;
  async function* lines(): AsyncGenerator<Uint8Array> {
    // the oldest first: files that are uploaded meanwhile come last
    const list = `/_f_/${encodeURIComponent(project)}?sort=createdAt&order=asc&`;
    for await (const files of pagesOf(server.list<ListedFile>(list, 'files'))) {
      const found = new Map<string, ExportedFile>();
      await forEachAtOnce(files, filesAtOnce, async (file) => {
        const item = await fetchFile(deps, project, file);
        if (item !== null) found.set(file.name, exportedFile(file, item));
      });
      for (const { name } of files) {
        const file = found.get(name);
        if (file === undefined) continue;
        count++;
        yield Buffer.from(`${JSON.stringify(file)}\n`);
      }
    }
  }
  await stored.note(await stored.write(index, lines()));
  return count;
}

type ListedFile = Omit<ExportedFile, 'sha256'> & { readonly sha256?: string };

function exportedFile(file: ListedFile, { sha256, owner }: DoneItem): ExportedFile {
  const { name, originalName, contentType, size, createdAt, expiresAt, folder, path } = file;
  const more = { ...(owner && { owner }), ...(expiresAt && { expiresAt }), ...(folder && { folder, path }) };
  return { name, originalName, contentType, size, createdAt, sha256, ...more };
}

/** Null: it was deleted meanwhile, or has expired. */
async function fetchFile(deps: TransferDeps, project: string, file: ListedFile): Promise<DoneItem | null> {
  const { server, stored, progress } = deps;
  const path = pathOf.file(project, file.name);
  // the file of a name never changes
  const done = await stored.done(path);
  if (done !== null) return done;
  const what = `${project}/${file.name}`;
  try {
    const item = await server.call(fileAddress(project, file.name), {}, async (answer): Promise<DoneItem> => {
      const written = await stored.write(path, counted(deps, what, answer), { bytes: file.size });
      const owner = ownerOf(answer);
      return owner === undefined ? written : { ...written, owner };
    });
    if (item.bytes !== file.size || (file.sha256 ?? item.sha256) !== item.sha256)
      throw new CommandError(`${what}: its bytes do not match the list of files`);
    await stored.note(item);
    progress.done(what);
    return item;
  } catch (error) {
    if (!isGone(error)) throw error;
    progress.say(`${what}: it was deleted meanwhile`);
    return null;
  }
}

async function* counted(
  { progress }: Pick<TransferDeps, 'progress'>,
  what: string,
  answer: Response,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytesOf(answer)) {
    progress.moved(what, chunk.byteLength);
    yield chunk;
  }
}

/** A list in pages. */
export async function* pagesOf<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let page: Item[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < 100) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
