import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { invalidImage, notImplemented } from '#kernel/errors/catalogue.ts';
import type { VariantFormat } from './accepted-format.ts';
import { cpuSeconds, residentBytes, watchMemory } from './watch-memory.ts';

const program = fileURLToPath(new URL('./picture-program.mjs', import.meta.url));

/** The exit status of a process that can't load sharp. */
const missing = 3;
/** Of a picture, or of a frame of an animation. */
export const mostPixels = 100_000_000;
/** Milliseconds for a picture. The largest ones take two seconds on a core of their own. */
const timeLimit = 20_000;
/** Of V8, which only passes the pictures on. Megabytes. */
const heapLimit = 64;
/** A process that holds more than this share of its limit after a picture is not used again. */
const keptShare = 0.5;

/** A process that gets less than this share of a core for this time is starved. Milliseconds. */
const starvation = { time: 2000, share: 0.1 };

export interface PictureJob extends Pick<ImagePreset, 'width' | 'height' | 'fit'> {
  /** Of the file with the original picture. */
  readonly path: string;
  readonly format: VariantFormat;
}

export interface MadePicture {
  readonly bytes: Uint8Array;
  /** Media type. */
  readonly type: string;
}

interface Reply extends Partial<MadePicture> {
  /** A failure in words for the client; empty: the decoder's own words are in `cause`. */
  readonly problem?: string;
  readonly cause?: string;
}

/** The process ended by itself: a fault of a decoder, or of this installation. */
export class PictureCrash extends Error {}

/** The process only runs while nothing else wants a core, which is not the case. */
export class Starved extends Error {}

export const noSharp = () => notImplemented('Making pictures, for which the server needs the package sharp,');

/**
 * Decodes pictures of strangers in a process of its own, one at a time: one that crashes it, or takes too much time or
 * memory, is refused, and affects nothing else. The process has neither our environment nor our stores.
 */
export class PictureProcess {
  /** It only runs while nothing else wants a core: requests never wait for it (docs/decisions/086). */
  readonly onlyIdle: boolean;
  readonly #child: ChildProcess;
  readonly #memoryLimit: number;
  readonly #ended: Promise<never>;
  #killedFor: Error | null = null;
  #isOver = false;

  /** Throws a 501 if sharp is not installed. @param args.memoryLimit bytes */
  constructor({ memoryLimit, onlyIdle }: { readonly memoryLimit: number; readonly onlyIdle: boolean }) {
    try {
      createRequire(import.meta.url).resolve('sharp');
    } catch {
      throw noSharp();
    }
    this.#memoryLimit = memoryLimit;
    this.onlyIdle = onlyIdle;
    this.#child = fork(program, [String(missing), String(mostPixels), onlyIdle ? 'idle' : 'low'], {
      cwd: '/',
      // more arenas keep what pictures have freed
      env: { TZ: 'UTC', MALLOC_ARENA_MAX: '2', UV_THREADPOOL_SIZE: '2' },
      execArgv: [`--max-old-space-size=${heapLimit}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#ended = new Promise((_, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (status, signal) => {
        this.#isOver = true;
        if (status === missing) reject(noSharp());
        const crash = new PictureCrash(`the process of pictures ended with ${signal ?? status}`);
        reject(this.#killedFor ?? invalidImage('decoding it failed', crash));
      });
    });
    // there may be no caller to handle the rejection
    this.#ended.catch(() => {});
    this.#child.unref();
    this.#child.channel?.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it can't be used for a further picture. */
  get isOver(): boolean {
    return this.#isOver || this.#killedFor !== null;
  }

  /** Rejects with a 422 when the picture is to blame, with `Starved`, and with the signal's reason. */
  async make(job: PictureJob, signal: AbortSignal): Promise<MadePicture> {
    signal.throwIfAborted();
    const onAbort = (): void => this.kill(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    const late = setTimeout(
      () => this.kill(invalidImage(`it takes longer than ${timeLimit / 1000} s`)),
      timeLimit,
    );
    const endWatch = watchMemory(this.pid, this.#memoryLimit, () =>
      this.kill(invalidImage(`it takes more than ${this.#memoryLimit} bytes of memory`)),
    );
    const endHunger = this.onlyIdle ? this.#watchHunger() : () => {};
    try {
      const { bytes, type, problem, cause } = await Promise.race([this.#ask(job), this.#ended]);
      if (bytes === undefined || type === undefined)
        throw invalidImage(problem || 'it is damaged, or no picture', cause);
      return { bytes, type };
    } finally {
      clearTimeout(late);
      endWatch();
      endHunger();
      signal.removeEventListener('abort', onAbort);
      if (residentBytes(this.pid) > this.#memoryLimit * keptShare) this.kill(new Error('it has grown'));
    }
  }

  kill(reason: Error): void {
    this.#killedFor ??= reason;
    this.#child.kill('SIGKILL');
  }

  /** Kills it. Resolves when it is gone. */
  async close(): Promise<void> {
    this.#child.ref();
    this.kill(new Error('it is no longer needed'));
    await this.#ended.catch(() => {});
  }

  #watchHunger(): () => void {
    let before = cpuSeconds(this.pid);
    const timer = setInterval(() => {
      const now = cpuSeconds(this.pid);
      if (now - before < (starvation.time / 1000) * starvation.share) this.kill(new Starved());
      before = now;
    }, starvation.time);
    return () => clearInterval(timer);
  }

  #ask(job: PictureJob): Promise<Reply> {
    return new Promise((resolve) => {
      this.#child.once('message', (reply) => resolve(reply as Reply));
      if (this.#child.connected) this.#child.send(job);
    });
  }
}
