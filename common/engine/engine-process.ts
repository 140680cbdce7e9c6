import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { engineSettings } from './engine-settings.ts';
import { settingsText } from './literal.ts';

const program = fileURLToPath(new URL('./engine-program.mjs', import.meta.url));

/** The exit status of a process that can't load the engine. */
const missing = 3;
/** A setting bounds the memory that the engine tracks. This bounds untracked allocations too. Bytes. */
const mostResident = 2 * 1024 ** 3;
const watchEvery = 100;

/** An empty array before the rows: chDB writes it for a statement that failed before this one. */
const leftover = /^\[\s*\]\s*(?=\[)/;

/** The embedded engine is not installed. */
export class EngineMissing extends Error {}

/** The process ended before its statement did. */
export class EngineEnded extends Error {}

interface Reply {
  readonly text?: string;
  readonly problem?: string;
}

/** The process's path of the inherited open file: its descriptor follows the streams and the channel. */
export const givenFile = '/dev/fd/4';

interface Options {
  /** A descriptor of an open file. */
  readonly file?: number | undefined;
  readonly settings: Readonly<Record<string, string | number>>;
  /** Total milliseconds that the engine may take, without the time that the reader of its rows takes. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/**
 * Isolates statements over untrusted files: an engine in a separate process, whose crash affects nothing else. It runs one
 * statement at a time, and has neither our data directory nor our environment.
 */
export class EngineProcess {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #failed: Promise<never>;
  readonly #watch: NodeJS.Timeout;
  #left: number;
  #killedFor: Error | null = null;

  /** Rejects with EngineMissing. */
  static async start(options: Options): Promise<EngineProcess> {
    try {
      createRequire(import.meta.url).resolve('chdb');
    } catch (cause) {
      throw new EngineMissing('chdb is not installed', { cause });
    }
    const folder = await mkdtemp(join(tmpdir(), 'sluice-engine-'));
    return new EngineProcess(folder, options);
  }

  private constructor(folder: string, { file, settings, timeout, signal }: Options) {
    this.#folder = folder;
    this.#left = timeout;
    const text = settingsText({ ...engineSettings, output_format_json_array_of_rows: 1, ...settings });
    this.#child = fork(program, [folder, text, String(missing)], {
      cwd: folder,
      env: { TZ: 'UTC' },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'ignore', 'ipc', ...(file === undefined ? [] : [file])],
    });
    const onAbort = (): void => this.#kill(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#failed = new Promise((_, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (status, by) => {
        signal.removeEventListener('abort', onAbort);
        clearInterval(this.#watch);
        const ended = status === missing ? new EngineMissing('chdb cannot be loaded') : null;
        reject(this.#killedFor ?? ended ?? new EngineEnded(`it ended with ${by ?? status}`));
      });
    });
    // there may be no caller to handle the rejection
    this.#failed.catch(() => {});
    this.#watch = setInterval(() => void this.#watchMemory(), watchEvery).unref();
  }

  /** The rows of a small result. Rejects with the engine's message. */
  async rows<Row>(sql: string): Promise<readonly Row[]> {
    const text = await this.#within(this.#ask({ sql, format: 'JSONEachRow' }));
    return JSON.parse(text.replace(leftover, '') || '[]') as readonly Row[];
  }

  /** The bytes of a result; the process runs no further statement. Throws the engine's message. */
  async *stream(sql: string, format: string): AsyncGenerator<Uint8Array> {
    const ended = this.#ask({ sql, format, isStream: true });
    ended.catch(() => {});
    const chunks = (this.#child.stdout as NonNullable<ChildProcess['stdout']>)[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await this.#within(chunks.next());
      if (done === true) break;
      yield value as Uint8Array;
    }
    await this.#within(ended);
  }

  /** Kills the process. Resolves when it is gone; a second call does nothing. */
  async close(): Promise<void> {
    this.#kill(new Error('it is no longer needed'));
    await this.#failed.catch(() => {});
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #ask(statement: {
    readonly sql: string;
    readonly format: string;
    readonly isStream?: true;
  }): Promise<string> {
    const replied = once(this.#child, 'message') as Promise<[Reply]>;
    replied.catch(() => {});
    if (this.#child.connected) this.#child.send(statement);
    const [{ text = '', problem }] = await Promise.race([replied, this.#failed]);
    if (problem !== undefined) throw new Error(problem);
    return text;
  }

  async #within<Result>(work: Promise<Result>): Promise<Result> {
    const begun = performance.now();
    const late = (): void => this.#kill(new Error('TIMEOUT_EXCEEDED'));
    const timer = setTimeout(late, Math.max(0, this.#left));
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      this.#left -= performance.now() - begun;
    }
  }

  async #watchMemory(): Promise<void> {
    const text = await readFile(`/proc/${this.#child.pid}/status`, 'utf8').catch(() => '');
    const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
    if (resident > mostResident) this.#kill(new Error('query memory limit exceeded'));
  }

  #kill(reason: Error): void {
    this.#killedFor ??= reason;
    this.#child.kill('SIGKILL');
  }
}
