import type { Projects } from '#catalogue/projects.ts';
import { KeyedLock } from '#kernel/limits/keyed-lock.ts';
import type { FileEvent, FileEvents, FileEventType } from '#kernel/record-events/file-event.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { cloudFileJson } from './cloud-file-json.ts';

interface AnnouncedFilesDeps {
  readonly events: FileEvents;
  readonly projects: Pick<Projects, 'find'>;
  /** The `s3Link` of a file. */
  readonly fileUrl: (file: CloudFile) => string;
}

/** Milliseconds for taking back a row whose call could not be stored. */
const takeBackTimeout = 10_000;
/** What has begun to change a file is brought to its end. */
const { signal: never } = new AbortController();

/**
 * Files that call the webhooks of their project when they appear and when they go. Every row passes through here, so no
 * operation can forget them (docs/decisions/089-webhooks-of-files.md).
 */
export class AnnouncedFiles {
  readonly #deps: AnnouncedFilesDeps;
  /** By name, so that the calls about a file have the order of its changes. */
  readonly #locks = new KeyedLock();

  constructor(deps: AnnouncedFilesDeps) {
    this.#deps = deps;
  }

  /** Wraps what stores and removes rows. */
  over<Files extends CloudFiles>(files: Files): Files {
    const [insert, remove] = [files.insert.bind(files), files.remove.bind(files)];
    return Object.assign(files, {
      insert: async (file: CloudFile, signal: AbortSignal, isCopy = false) => {
        const events = isCopy ? [] : await this.#created(file, signal);
        if (events.length === 0) return insert(file, signal);
        const store = async (): Promise<void> => {
          await insert(file, signal);
          await this.#publish(events).catch(async (error: unknown) => {
            // the upload fails, and its object is removed
            await remove(file.name, AbortSignal.timeout(takeBackTimeout)).catch(() => {});
            throw error;
          });
        };
        return this.#locks.run(file.name, store, never);
      },
      remove: async (name: string, signal: AbortSignal) => {
        const find = async () => this.#deleted(await files.findByName(name, signal), signal);
        if ((await find()).length === 0) return remove(name, signal);
        const removeIt = async (): Promise<boolean> => {
          // its object is gone: a process that dies in between leaves the row, and the next deletion calls again
          await this.#publish(await find());
          return remove(name, signal);
        };
        return this.#locks.run(name, removeIt, never);
      },
    });
  }

  #created(file: CloudFile, signal: AbortSignal): Promise<readonly FileEvent[]> {
    return this.#eventsOf(file, { type: 'file.created', more: { reason: 'uploaded' } }, signal);
  }

  async #deleted(file: CloudFile | null, signal: AbortSignal): Promise<readonly FileEvent[]> {
    if (file === null) return [];
    return this.#eventsOf(file, { type: 'file.deleted', more: { reason: 'deleted' } }, signal);
  }

  /** One for each address that wants it. */
  async #eventsOf(
    file: CloudFile,
    { type, more }: { readonly type: FileEventType; readonly more: object },
    signal: AbortSignal,
  ): Promise<readonly FileEvent[]> {
    const { ownerId, projectSlug, name } = file;
    const project = await this.#deps.projects.find(ownerId, projectSlug, signal);
    const wanted = project?.fileRules?.webhooks?.filter(({ events }) => events.includes(type)) ?? [];
    if (project === null || wanted.length === 0) return [];
    const about = { file: cloudFileJson(file, this.#deps.fileUrl(file)), ...more };
    return wanted.map(({ url }) => ({
      ...{ type, ownerId, name, url, about },
      projectId: project.id,
      project: projectSlug,
    }));
  }

  async #publish(events: readonly FileEvent[]): Promise<void> {
    await Promise.all(events.map((event) => this.#deps.events.publishFile(event)));
  }
}
