import { FairShare } from '#kernel/limits/fair-share.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { variantsOf } from './variant-key.ts';

/** Files whose pictures are looked for at once. */
const filesAtOnce = 16;

/** Removes the pictures of deleted files. What it leaves is removed by the janitor. */
export class VariantRemoval {
  readonly #store: Pick<ObjectStore, 'list' | 'deleteAll'>;
  readonly #deploymentId: string;
  readonly #log: Pick<Log, 'warn'>;
  readonly #slots = new FairShare({
    capacity: filesAtOnce,
    queueLimit: Number.POSITIVE_INFINITY,
    full: 'too many files are being deleted',
  });

  constructor(args: {
    readonly store: Pick<ObjectStore, 'list' | 'deleteAll'>;
    readonly deploymentId: string;
    readonly log: Pick<Log, 'warn'>;
  }) {
    this.#store = args.store;
    this.#deploymentId = args.deploymentId;
    this.#log = args.log;
  }

  /** Wraps `remove`, so that pictures are gone before the deletion of their file is answered. */
  over<Files extends CloudFiles>(files: Files): Files {
    const remove = files.remove.bind(files);
    return Object.assign(files, {
      remove: async (name: string, signal: AbortSignal) => {
        const file = await files.findAny(name, signal);
        const wasThere = await remove(name, signal);
        if (file !== null && /^(?:image|video)\//.test(file.contentType)) await this.#removeOf(file, signal);
        return wasThere;
      },
    });
  }

  async #removeOf({ ownerId, projectSlug, name }: CloudFile, signal: AbortSignal): Promise<void> {
    const prefix = variantsOf({ deploymentId: this.#deploymentId, ownerId, projectSlug, name });
    const work = async (): Promise<void> => {
      const keys: string[] = [];
      for await (const { key } of this.#store.list(prefix, signal)) keys.push(key);
      if (keys.length > 0) await this.#store.deleteAll(keys, signal);
    };
    try {
      await this.#slots.run(work, signal);
    } catch (error) {
      this.#log.warn({ err: error, name }, 'the janitor will remove the pictures of a deleted file');
    }
  }
}
