import type { Project, Projects } from '#catalogue/projects.ts';
import { KeyedLock } from '#kernel/limits/keyed-lock.ts';
import type { FileEvents, FileWebhook } from '#kernel/record-events/file-event.ts';
import type { CloudFile, FileChange } from '../catalogue/cloud-file.ts';
import type { CloudFiles, InsertOptions } from '../catalogue/cloud-files.ts';
import { cloudFileJson } from './cloud-file-json.ts';
import { deletionOf, type FileTransition, transitionOf } from './file-transition.ts';

interface AnnouncedFilesDeps {
  readonly events: FileEvents;
  readonly projects: Pick<Projects, 'find'>;
  /** The `s3Link` of a file. */
  readonly fileUrl: (file: CloudFile) => string;
}

/** A project that wants to hear of its files. */
interface Listener {
  readonly project: Project;
  readonly webhooks: readonly FileWebhook[];
}

/** Milliseconds for taking back a row whose call could not be stored. */
const takeBackTimeout = 10_000;
/** What has begun to change a file is brought to its end. */
const { signal: never } = new AbortController();

/**
 * Files that call the webhooks of their project when they appear, go, or are refused. Every row passes through here, so no
 * operation can forget them. A file without a webhook costs a look at its project, which is in memory
 * (docs/decisions/089-webhooks-of-files.md).
 */
export class AnnouncedFiles {
  readonly #deps: AnnouncedFilesDeps;
  /** By name, so that the calls about a file have the order of its changes. */
  readonly #locks = new KeyedLock();

  constructor(deps: AnnouncedFilesDeps) {
    this.#deps = deps;
  }

  /** Wraps what stores, changes and removes rows. */
  over<Files extends CloudFiles>(files: Files): Files {
    const { projects } = this.#deps;
    const insert = files.insert.bind(files);
    const change = files.change.bind(files);
    const remove = files.remove.bind(files);
    return Object.assign(files, {
      insert: async (file: CloudFile, signal: AbortSignal, how?: InsertOptions) => {
        const { ownerId, projectSlug } = file;
        const isHeard = how?.isCopy !== true;
        const listener = isHeard ? listenerOf(await projects.find(ownerId, projectSlug, signal)) : null;
        if (listener === null) return insert(file, signal, how);
        return this.#inTurn([file.name], async () => {
          await insert(file, signal, how);
          const made = transitionOf(null, file);
          if (made !== null) await this.#tellOrTakeBack(listener, file, made, remove);
        });
      },
      change: async (names: readonly string[], changed: FileChange, signal: AbortSignal) => {
        const heard = await this.#heardOf(files, names, signal);
        if (heard.size === 0) return change(names, changed, signal);
        return this.#inTurn([...heard.keys()], async () => {
          const before = await findAll(files, [...heard.keys()], signal);
          await change(names, changed, signal);
          await Promise.all(
            before.map(async (file) => {
              const after = changedFile(file, changed);
              const made = transitionOf(file, after);
              if (made !== null) await this.#tell(heard.get(file.name) as Listener, after, made);
            }),
          );
        });
      },
      remove: async (name: string, signal: AbortSignal) => {
        const listener = (await this.#heardOf(files, [name], signal)).get(name);
        if (listener === undefined) return remove(name, signal);
        return this.#inTurn([name], async () => {
          const file = await files.findAny(name, signal);
          const made = file && deletionOf(file, Date.now());
          // its object is gone: a process that dies in between leaves the row, and the next deletion tells again
          if (file !== null && made !== null) await this.#tell(listener, file, made);
          return remove(name, signal);
        });
      },
    });
  }

  /** Tells that a scanner found something in a file. @param signature what it found */
  async refused(file: CloudFile, signature: string, signal: AbortSignal): Promise<void> {
    const listener = await this.#listenerOf(file, signal);
    if (listener === null) return;
    await this.#inTurn([file.name], () =>
      this.#tell(listener, { ...file, state: 'refused' }, { type: 'file.refused', signature }),
    );
  }

  /** The calls of an upload are stored before it is acknowledged: if they can't be, it fails, and leaves nothing. */
  async #tellOrTakeBack(
    listener: Listener,
    file: CloudFile,
    made: FileTransition,
    remove: CloudFiles['remove'],
  ): Promise<void> {
    try {
      await this.#tell(listener, file, made);
    } catch (error) {
      // whoever stored it removes the object
      await remove(file.name, AbortSignal.timeout(takeBackTimeout)).catch(() => {});
      throw error;
    }
  }

  /** Stores a call for each address that wants it. */
  async #tell(
    { project, webhooks }: Listener,
    file: CloudFile,
    { type, ...why }: FileTransition,
  ): Promise<void> {
    const { events, fileUrl } = this.#deps;
    const { ownerId, name } = file;
    const about = { file: cloudFileJson(file, fileUrl(file)), ...why };
    const place = { ownerId, projectId: project.id, project: project.slug, name };
    await Promise.all(
      webhooks
        .filter((webhook) => webhook.events.includes(type))
        .map(({ url }) => events.publishFile({ type, ...place, url, about })),
    );
  }

  async #listenerOf(
    { ownerId, projectSlug }: Pick<CloudFile, 'ownerId' | 'projectSlug'>,
    signal: AbortSignal,
  ): Promise<Listener | null> {
    return listenerOf(await this.#deps.projects.find(ownerId, projectSlug, signal));
  }

  /** Those of the files that somebody listens to, by name. */
  async #heardOf(
    files: Pick<CloudFiles, 'findAny'>,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Listener>> {
    const heard = new Map<string, Listener>();
    for (const file of await findAll(files, names, signal)) {
      const listener = await this.#listenerOf(file, signal);
      if (listener !== null) heard.set(file.name, listener);
    }
    return heard;
  }

  /** Does the work once earlier work with any of the names is done. */
  #inTurn<Result>(names: readonly string[], work: () => Promise<Result>): Promise<Result> {
    // in one order, so that two of them never wait for each other
    const inOrder = [...new Set(names)].sort();
    return inOrder.reduceRight((inner, name) => () => this.#locks.run(name, inner, never), work)();
  }
}

/** Null: the project has no webhooks of files. */
function listenerOf(project: Project | null): Listener | null {
  const webhooks = project?.fileRules?.webhooks ?? [];
  return project === null || webhooks.length === 0 ? null : { project, webhooks };
}

async function findAll(
  files: Pick<CloudFiles, 'findAny'>,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly CloudFile[]> {
  const found = await Promise.all(names.map((name) => files.findAny(name, signal)));
  return found.filter((file) => file !== null);
}

function changedFile(file: CloudFile, { trashedAt, state }: FileChange): CloudFile {
  return {
    ...file,
    ...(trashedAt === undefined ? {} : { trashedAt: trashedAt ?? undefined }),
    ...(state === undefined ? {} : { state: state ?? undefined }),
  };
}
