import { serverEvents } from '#client/server-events.ts';
import { toProblem } from '../problem.ts';
import type { Where } from './filters.ts';

export type LiveState =
  | { readonly kind: 'off' | 'connecting' }
  /** Narrowed: of too many records, it hears of those that change and not of those that go. */
  | { readonly kind: 'live'; readonly isNarrowed: boolean }
  | { readonly kind: 'refused'; readonly message: string };

export interface LiveFindInput {
  readonly where: Where;
  /** @param place of the last event that came; empty: none has */
  readonly open: (
    where: Where,
    place: string,
    signal: AbortSignal,
  ) => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
  readonly onState: (state: LiveState) => void;
  /** @param id of a record that came, changed or went; null: it may have been any */
  readonly onChange: (id: string | null) => void;
}

/** Milliseconds before another try. */
const retryMs = { least: 1000, most: 5000 };
/** The server says every 15 s that it is there. */
const silentMs = 40_000;
/** Between two looks at records that may have gone. */
const lookMs = 5000;

/** A find that stays open, and is opened again where its connection is cut. */
export class LiveFind {
  readonly #input: LiveFindInput;
  #place = '';
  /** Only records that change from then on are watched. */
  #since: string | null = null;
  #retryMs = retryMs.least;
  #failures = 0;

  constructor(input: LiveFindInput) {
    this.#input = input;
  }

  /** Goes on where it was, until the signal or a refusal. */
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
        // too many requests, or streams, may be fewer soon
        if (isRefused && status !== 429) return;
        if (code === 'too_many_records' && this.#narrow()) continue;
      }
      this.#failures += 1;
      await sleep(Math.min(retryMs.most, this.#retryMs * this.#failures), signal);
    }
  }

  /** @returns whether it was not yet. Where this clock is ahead, changes are seen by looking alone for so long. */
  #narrow(): boolean {
    const isFirst = this.#since === null;
    this.#since = new Date().toISOString();
    this.#place = '';
    return isFirst;
  }

  /** Resolves when the server ends it. */
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
      // what came before is not told
      onChange(null);
    } else if (event === 'enter' || event === 'change' || event === 'leave') {
      onChange(String((JSON.parse(data as string) as { readonly id: string }).id));
    }
  }
}

/** Resolves after some time, or when the signal says so. */
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
