import { randomUUID } from 'node:crypto';
import { untilAborted, withDeadline } from '#kernel/limits/deadline.ts';
import type { DirectAbilities } from '../direct-store.ts';
import { checkKey } from '../file-key.ts';
import type { S3Context } from './s3-context.ts';
import {
  enforcesNothing,
  probeChecksums,
  probeDigest,
  probeObject,
  probePart,
  rightCrc32c,
  rightMd5,
  wrongCrc32c,
  wrongMd5,
} from './s3-probes.ts';

/** Deadline of the whole probe. Milliseconds. */
const probeTimeout = 30_000;
/** A probe that failed is repeated after this pause. Milliseconds. */
const pause = 60_000;

/** Tries what a store enforces, once: servers differ, and ignore what they don't know. */
export class DirectProbe {
  readonly #context: S3Context;
  #known: Promise<DirectAbilities> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(context: S3Context) {
    this.#context = context;
  }

  /** Rejects only with the signal's reason. */
  abilities(signal: AbortSignal): Promise<DirectAbilities> {
    const { deploymentId } = this.#context;
    if (deploymentId === undefined) return Promise.resolve(enforcesNothing);
    if (this.#known === null) {
      if (performance.now() - this.#failedAt < pause) return Promise.resolve(enforcesNothing);
      this.#known = this.#probe(deploymentId);
    }
    return untilAborted(this.#known, signal);
  }

  async #probe(deploymentId: string): Promise<DirectAbilities> {
    const newKey = () => checkKey(deploymentId, randomUUID());
    try {
      return await withDeadline(undefined, probeTimeout, async ({ signal }) => {
        const context = this.#context;
        const [object, md5, checksum, part, checksums] = await Promise.all([
          probeObject(context, newKey(), signal),
          probeDigest(context, { key: newKey(), wrong: wrongMd5, right: rightMd5 }, signal),
          probeDigest(context, { key: newKey(), wrong: wrongCrc32c, right: rightCrc32c }, signal),
          probePart(context, newKey(), signal),
          probeChecksums(context, newKey(), signal),
        ]);
        return {
          refusesOverwrite: object.refusesOverwrite,
          etagIsMd5: object.etagIsMd5 && part.etagIsMd5,
          checksMd5: md5 && part.checksMd5,
          checksChecksums: checksum && checksums,
        };
      });
    } catch (err) {
      this.#failedAt = performance.now();
      this.#known = null;
      this.#context.log.warn(
        { err },
        'what the object store enforces could not be probed: it is repeated later',
      );
      return enforcesNothing;
    }
  }
}
