import { randomUUID } from 'node:crypto';
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { shuttingDown } from '#kernel/errors/catalogue.ts';
import { type Attempt, whileWanted } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import { localFile } from './fetched-file.ts';
import { makeOwnFolder } from './own-folder.ts';
import { type MadePicture, PictureCrash } from './picture-process.ts';
import { PictureProcesses } from './picture-processes.ts';
import { type StoredVariant, type VariantAddress, variantKey } from './variant-key.ts';
import { findVideoPrograms, noFfmpeg, VideoFrame, type VideoPrograms } from './video-frame.ts';

interface PictureMakerParts {
  /** Without metrics: pictures are no uploads. */
  readonly store: Pick<ObjectStore, 'read' | 'pathOf' | 'create' | 'delete'>;
  readonly cloudFiles: Pick<CloudFiles, 'findByName'>;
  /** Where temporary files may be. */
  readonly folder: string;
  /** Bytes of a process that makes pictures. */
  readonly memoryLimit: number;
  /** Processes that share the cores. */
  readonly gateways: number;
  readonly log: Pick<Log, 'warn'>;
}

/** Makes pictures, and stores them. */
export class PictureMaker {
  readonly #parts: PictureMakerParts;
  readonly #processes: PictureProcesses;
  readonly #running = new Set<Attempt>();
  #isClosed = false;
  #folder: Promise<string> | null = null;
  #programs: Promise<VideoPrograms | null> | null = null;
  /** How many were made, and could not be made. */
  readonly counts = { made: 0, failed: 0 };

  constructor(parts: PictureMakerParts) {
    this.#parts = parts;
    this.#processes = new PictureProcesses(parts);
  }

  get processes(): Pick<PictureProcesses, 'running' | 'waiting'> {
    return this.#processes;
  }

  /** Makes and stores a picture when it is the turn of the file's account. Rejects like `Pictures.of`. */
  async make(
    file: CloudFile,
    preset: ImagePreset,
    variant: VariantAddress,
    signal: AbortSignal,
  ): Promise<StoredVariant> {
    const { ownerId } = file;
    if (this.#isClosed) throw shuttingDown();
    try {
      const made = await this.#processes.turn(
        ownerId,
        () => this.#draw(file, preset, variant, signal),
        signal,
      );
      const stored = await this.#store(file, variant, made, signal);
      this.counts.made++;
      return stored;
    } catch (error) {
      if (!signal.aborted) this.counts.failed++;
      if (error instanceof ApiError && error.cause instanceof PictureCrash)
        this.#parts.log.warn(
          { err: error.cause, name: file.name },
          'a picture ended the process that made it',
        );
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const attempt of this.#running) attempt.stop(shuttingDown());
    await this.#processes.close();
    if (this.#folder === null) return;
    await rm(await this.#folder, { recursive: true, force: true });
    // unless other processes have theirs in it
    await rmdir(this.#parts.folder).catch(() => {});
  }

  #draw(
    file: CloudFile,
    { width, height, fit }: ImagePreset,
    { format }: VariantAddress,
    wanted: AbortSignal,
  ): Promise<MadePicture> {
    return whileWanted(wanted, async (attempt) => {
      const { signal } = attempt;
      const path = join(await this.#ownFolder(), randomUUID());
      this.#running.add(attempt);
      const framePath = `${path}.png`;
      const isVideo = file.contentType.startsWith('video/');
      let source = framePath;
      try {
        if (isVideo) await this.#writeFrame(file, { videoPath: path, framePath }, signal);
        else source = await localFile(this.#parts.store, file, path, signal);
        return await this.#processes.make({ path: source, width, height, fit, format }, signal);
      } finally {
        this.#running.delete(attempt);
        // unless it is a file of the store
        if (source.startsWith(path))
          await Promise.all([path, framePath].map((made) => rm(made, { force: true })));
      }
    });
  }

  async #writeFrame(
    video: CloudFile,
    paths: { readonly videoPath: string; readonly framePath: string },
    signal: AbortSignal,
  ): Promise<void> {
    this.#programs ??= findVideoPrograms();
    const programs = await this.#programs;
    if (programs === null) throw noFfmpeg();
    const { store, memoryLimit } = this.#parts;
    await new VideoFrame(programs, { store, video, ...paths, memoryLimit }, signal).write();
  }

  async #store(
    { name }: CloudFile,
    variant: VariantAddress,
    { bytes, type: contentType }: MadePicture,
    signal: AbortSignal,
  ): Promise<StoredVariant> {
    const { store, cloudFiles } = this.#parts;
    const key = variantKey(variant);
    const writer = await store.create(key, { contentType, metadata: {}, replaces: true }, signal);
    await writer.complete({ chunks: [bytes], size: bytes.byteLength, crc32: crc32(bytes) });
    // the file may have been deleted meanwhile, with the pictures that it had
    if ((await cloudFiles.findByName(name, signal)) === null) {
      await store.delete(key, signal);
      throw fileNotFound();
    }
    return { contentType, size: bytes.byteLength, lastModified: new Date() };
  }

  #ownFolder(): Promise<string> {
    // a full disk may have room later
    this.#folder ??= makeOwnFolder(this.#parts.folder).catch((error: unknown) => {
      this.#folder = null;
      throw error;
    });
    return this.#folder;
  }
}
