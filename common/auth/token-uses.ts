import type { Log } from '#kernel/log/log.ts';
import type { AccessTokens } from './access-tokens.ts';

const flushEvery = 60_000;
/** Most tokens whose use is remembered between two writes. */
const limit = 65_536;

/** Writes the last use of access tokens to the store, once a minute. */
export class TokenUses {
  readonly #tokens: Pick<AccessTokens, 'noteUses'>;
  readonly #log: Pick<Log, 'warn'>;
  readonly #flusher: NodeJS.Timeout;
  #uses = new Map<string, Date>();

  constructor(tokens: Pick<AccessTokens, 'noteUses'>, log: Pick<Log, 'warn'>) {
    this.#tokens = tokens;
    this.#log = log;
    this.#flusher = setInterval(() => void this.#flush(), flushEvery);
    this.#flusher.unref();
  }

  note(hash: string, time: Date): void {
    if (this.#uses.size < limit) this.#uses.set(hash, time);
  }

  async close(): Promise<void> {
    clearInterval(this.#flusher);
    await this.#flush();
  }

  async #flush(): Promise<void> {
    const flushed = this.#uses;
    this.#uses = new Map();
    try {
      await this.#tokens.noteUses(flushed);
    } catch (error) {
      this.#log.warn({ err: error }, 'the last use of access tokens could not be noted');
    }
  }
}
