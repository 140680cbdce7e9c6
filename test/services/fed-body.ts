import { type BodyMemory, createBodyMemory } from '#server/http/body-memory.ts';
import { ChunkJoiner } from '#server/http/chunk-joiner.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { IncomingBody } from '#server/http/incoming-body.ts';
import { fakeRequest } from './fake-request.ts';

/** A request whose body a test feeds as the native side would. */
export interface FedBody {
  readonly body: IncomingBody;
  readonly request: HttpRequest;
  /** Whether the socket is being read. */
  readonly reading: boolean;
  /** Pushes bytes in chunks of a size. */
  push(bytes: Uint8Array, size?: number, last?: boolean): void;
}

/** Makes bodies that share a memory, as those of a process do. */
export function bodyFeeder(memory: BodyMemory = createBodyMemory()): (contentLength?: number) => FedBody {
  const joiner = new ChunkJoiner();
  return (contentLength) => {
    let reading = true;
    const body = new IncomingBody({
      contentLength,
      flow: {
        pause() {
          reading = false;
        },
        resume() {
          reading = true;
        },
      },
      memory,
      joiner,
      now: performance.now(),
    });
    return {
      body,
      request: { ...fakeRequest(), body },
      get reading() {
        return reading;
      },
      push(bytes, size = 65_536, last = false) {
        for (let at = 0; at < bytes.byteLength; at += size) {
          const chunk = new Uint8Array(bytes.subarray(at, at + size));
          body.push(chunk.buffer, last && at + size >= bytes.byteLength);
        }
      },
    };
  };
}

/** Lets everything run that was put off to the end of this turn of the event loop. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
