import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Locks, ownLocks } from '#coordination/redis/process-lock.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { PictureMaker } from '#gateway/images/picture-maker.ts';
import { Pictures } from '#gateway/images/pictures.ts';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { notFound } from '#kernel/errors/catalogue.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { testDeployment } from './new-file.ts';
import { silentLog } from './silent-log.ts';

/** A gateway without presets. */
export const noPictures: Pick<Pictures, 'of'> = {
  async of() {
    throw notFound('There is no such preset');
  },
};

/** Pictures by preset, made by real processes. */
export function picturesOn(args: {
  readonly store: ObjectStore;
  readonly cloudFiles: Pick<CloudFiles, 'findByName'>;
  readonly presets: readonly ImagePreset[];
  readonly projects?: ConstructorParameters<typeof Pictures>[0]['projects'];
  readonly memoryLimit?: number;
  readonly locks?: Locks;
}): { readonly pictures: Pictures; readonly maker: PictureMaker } {
  const { store, cloudFiles, presets, memoryLimit = 384 * 1024 * 1024 } = args;
  const { projects = { find: async () => null }, locks = ownLocks() } = args;
  const folder = join(tmpdir(), `sluice-test-pictures-${randomUUID()}`);
  const maker = new PictureMaker({ store, cloudFiles, folder, memoryLimit, gateways: 1, log: silentLog() });
  const deploymentId = testDeployment;
  return {
    maker,
    pictures: new Pictures({ deploymentId, store, projects, maker, locks, presets }),
  };
}
