import type { Readable } from 'node:stream';
import { ConnectionGone } from './connection-gone.ts';

/**
 * Feeds a stream to `write`, which may ask for time with a promise. Rejects when `write` fails, or with ConnectionGone
 * when the stream closes before its end.
 */
export function readStream(
  source: Readable,
  write: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      source.off('data', onData).off('end', onEnd).off('close', onClose);
      finish();
    };
    const fail = (error: unknown): void => settle(() => reject(error));
    const onData = (chunk: Buffer): void => {
      try {
        const wait = write(chunk);
        if (wait === undefined) return;
        source.pause();
        wait.then(() => source.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = (): void => settle(resolve);
    const onClose = (): void => fail(new ConnectionGone());
    if (source.destroyed) {
      reject(new ConnectionGone());
      return;
    }
    source.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}
