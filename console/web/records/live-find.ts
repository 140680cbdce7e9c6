import { serverEvents } from '#client/server-events.ts';
import { toProblem } from '../problem.ts';
import type { Where } from './filters.ts';

export type LiveState =
  | { readonly kind: 'off' | 'connecting' }
  /** Narrowed: with too many records, only changes are received, not deletions. */
  | { readonly kind: 'live'; readonly isNarrowed: boolean }
  | { readonly kind: 'refused'; readonly message: string };

export interface LiveFindInput {
  readonly where: Where;
  /** @param place id of the last event; empty: none */
  readonly open: (
    where: Where,
    place: string,
    signal: AbortSignal,
  ) => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
  readonly onState: (state: LiveState) => void;
  /** @param id of a record that was inserted, changed or removed; null: any */
  readonly onChange: (id: string | null) => void;
}

/** Pauses before a reconnection. Milliseconds. */
const retryMs = { least: 1000, most: 5000 };
/** The server sends a comment every 15 s. */
const silentMs = 40_000;
/** Interval of reloads that find deletions. */
const lookMs = 5000;

/** A live query that reconnects. */
export class LiveFind {
  readonly #input: LiveFindInput;
  #place = '';
  /** If set, only records that change after this are watched. */
  #since: string | null = null;
  #retryMs = retryMs.least;
  #failures = 0;

  constructor(input: LiveFindInput) {
    this.#input = input;
  }

  /** Watches, and continues where it stopped, until the signal or a refusal. */
  async watch(signal: AbortSignal): Promise<void> {
    const { onState } = this.#input;
    this.#failures = 0;
    onState({ kind: 'connecting' });
    while (!signal.aborted) {
      try {
        await this.#connect(signal);
        if (!signal.aborted) onState({ kind: 'connecting' });
      } catch (thrown) {
        if (signal.aborted) return;
        const { status, code, message } = toProblem(thrown);
        const isRefused = status >= 400 && status < 500 && code !== 'too_many_records';
        onState(isRefused ? { kind: 'refused', message } : { kind: 'connecting' });
        // after 429 a later attempt may succeed
        if (isRefused && status !== 429) return;
        if (code === 'too_many_records' && this.#narrow()) continue;
      }
      this.#failures += 1;
      await sleep(Math.min(retryMs.most, this.#retryMs * this.#failures), signal);
    }
  }

  /** @returns whether it was not narrowed before. If this clock is ahead, only reloads find changes for that long. */
  #narrow(): boolean {
    const isFirst = this.#since === null;
    this.#since = new Date().toISOString();
    this.#place = '';
    return isFirst;
  }

  /** Resolves when the server ends the stream. */
  async #connect(signal: AbortSignal): Promise<void> {
    const { where, open, onChange } = this.#input;
    const since = this.#since;
    const silence = new AbortController();
    let silent = 0;
    const onBytes = (): void => {
      clearTimeout(silent);
      silent = window.setTimeout(() => silence.abort(), silentMs);
    };
    const looks = since === null ? 0 : window.setInterval(() => onChange(null), lookMs);
    try {
      onBytes();
      const conditions: Where = since === null ? where : [...where, ['updatedAt', 'gt', since]];
      const body = await open(conditions, this.#place, AbortSignal.any([signal, silence.signal]));
      const reader = body.getReader();
      const read = async () => {
        const step = await reader.read();
        onBytes();
        return step;
      };
      for await (const event of serverEvents(read)) this.#take(event);
    } finally {
      clearTimeout(silent);
      clearInterval(looks);
    }
  }

  #take({ event, id, data, retry }: { readonly [Field in string]?: string }): void {
    const { onState, onChange } = this.#input;
    this.#place = id ?? this.#place;
    if (retry !== undefined) this.#retryMs = Math.max(retryMs.least, Number(retry));
    if (event === 'ready') {
      this.#failures = 0;
      onState({ kind: 'live', isNarrowed: this.#since !== null });
      // earlier changes are not sent
      onChange(null);
    } else if (event === 'enter' || event === 'change' || event === 'leave') {
      onChange(String((JSON.parse(data as string) as { readonly id: string }).id));
    }
  }
}

/** Resolves after some time, or when aborted. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done);
  });
}
