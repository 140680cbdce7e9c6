import { FairShare } from '#kernel/limits/fair-share.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Part } from '#objects/object-store.ts';
import { readClamdAnswer } from './clamd-answer.ts';
import { type ClamdAddress, ClamdStream, type ClamdTimes } from './clamd-stream.ts';
import { clean, failed, postponed, type ScanOutcome, tooLarge } from './scan-outcome.ts';
import { ScannerHealth } from './scanner-health.ts';

export interface ScannerOptions {
  readonly address: ClamdAddress;
  /** Larger files are not sent. Bytes. */
  readonly maxBytes: number;
  /** How long a verdict is waited for after the last byte. Milliseconds. */
  readonly verdictTimeout: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly times?: Partial<ScannerTimes>;
  readonly connections?: number;
}

interface ScannerTimes extends ClamdTimes {
  /** How long a file waits for a connection. Milliseconds. */
  readonly connection: number;
  /** How long an upload that sends nothing keeps its connection: clamd's CommandReadTimeout is 30 s. Milliseconds. */
  readonly idle: number;
  readonly ping: number;
}

const usualTimes: ScannerTimes = {
  connect: 3000,
  stalled: 10_000,
  connection: 20_000,
  idle: 20_000,
  ping: 2000,
};

/** Fewer than clamd's threads (MaxThreads: 10). */
const usualConnections = 8;
const mostWaiting = 10_000;

/** Outcomes, as `sluice_scans_total` names them. */
export interface ScanCounts {
  clean: number;
  found: number;
  too_large: number;
  failed: number;
  postponed: number;
}

/** Bytes of one file on their way to the scanner, in order. */
export interface UploadScan {
  /** Resolves when the bytes may be reused. Never rejects. */
  update(part: Pick<Part, 'chunks' | 'size'>): Promise<void>;
  /** @param last the last bytes; null: `update` had them all */
  end(last: Pick<Part, 'chunks' | 'size'> | null): Promise<ScanOutcome>;
  /** Gives up the file. */
  drop(): void;
}

/** Asks clamd about files: while they are uploaded, or as they are read. */
export class Scanner {
  readonly #options: ScannerOptions;
  readonly #times: ScannerTimes;
  readonly #slots: FairShare;
  readonly #health = new ScannerHealth();
  readonly counts: ScanCounts = { clean: 0, found: 0, too_large: 0, failed: 0, postponed: 0 };

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#times = { ...usualTimes, ...options.times };
    const { connections = usualConnections } = options;
    this.#slots = new FairShare({
      capacity: connections,
      share: Math.ceil(connections / 2),
      queueLimit: mostWaiting,
      waitLimit: this.#times.connection,
      full: 'too many files wait for the scanner',
    });
  }

  get maxBytes(): number {
    return this.#options.maxBytes;
  }

  get isAway(): boolean {
    return this.#health.isAway;
  }

  /** Connections that are taken. */
  get inFlight(): number {
    return this.#slots.used;
  }

  /** Begins a file of an account. */
  begin(account: string): UploadScan {
    return new FileScan(this, account);
  }

  /** Scans bytes that are read from a store. @param read reads nothing before the first chunk is taken */
  async scan(
    read: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
    {
      account,
      size,
      signal,
    }: { readonly account: string; readonly size: number; readonly signal: AbortSignal },
  ): Promise<ScanOutcome> {
    if (size > this.maxBytes) return this.counted(tooLarge);
    if (size === 0) return this.counted(clean);
    const scan = new FileScan(this, account);
    const drop = (): void => scan.drop();
    signal.addEventListener('abort', drop, { once: true });
    try {
      await scan.connect(signal);
      if (!scan.isOver)
        for await (const chunk of read(signal)) {
          await scan.update({ chunks: [chunk], size: chunk.byteLength });
          if (scan.isOver) break;
        }
      const outcome = await scan.end(null);
      signal.throwIfAborted();
      return outcome;
    } finally {
      signal.removeEventListener('abort', drop);
      drop();
    }
  }

  /** Whether the scanner answers, which decides whether files are sent to it. Never rejects. */
  async answers(): Promise<boolean> {
    const { connect, ping } = this.#times;
    try {
      const stream = new ClamdStream(this.#options.address, 'PING', { connect, stalled: ping });
      const answer = await stream.answer(ping);
      if (answer !== 'PONG') throw new Error(`clamd answered ${JSON.stringify(answer.slice(0, 200))}`);
      this.#worked();
      return true;
    } catch (error) {
      this.#broke(error);
      return false;
    }
  }

  /** @internal */
  get times(): ScannerTimes {
    return this.#times;
  }

  /** A connection, if one is free and clamd is not away; otherwise how the file ends. @internal */
  openNow(account: string): OpenScan | ScanOutcome {
    const slot = this.#slots.tryClaim(account, 1);
    if (slot === null) return postponed;
    return this.#open(slot.release);
  }

  /** The same, after waiting for a connection. Rejects with the signal's reason. @internal */
  async open(account: string, signal: AbortSignal | undefined): Promise<OpenScan | ScanOutcome> {
    let release: () => void;
    try {
      release = await this.#slots.take(signal, account);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      return postponed;
    }
    return this.#open(release);
  }

  #open(release: () => void): OpenScan | ScanOutcome {
    if (!this.#health.mayAsk()) {
      release();
      return failed(new Error('the scanner is away'));
    }
    return { stream: new ClamdStream(this.#options.address, 'INSTREAM', this.#times), release };
  }

  /** The verdict on what a stream got. @internal */
  async verdict({ stream }: OpenScan): Promise<ScanOutcome> {
    let outcome: ScanOutcome;
    try {
      outcome = readClamdAnswer(await stream.end(this.#options.verdictTimeout));
    } catch (error) {
      outcome = failed(error);
    }
    // one file that takes clamd long says nothing about the others
    if (outcome.is === 'failed') await this.answers();
    else this.#worked();
    return outcome;
  }

  /** Counts an outcome. @internal */
  counted(outcome: ScanOutcome): ScanOutcome {
    this.counts[outcome.is === 'too large' ? 'too_large' : outcome.is]++;
    return outcome;
  }

  #broke(error: unknown): void {
    if (this.#health.broke()) this.#options.log.warn({ err: error }, 'the virus scanner is away');
  }

  #worked(): void {
    if (this.#health.worked()) this.#options.log.info('the virus scanner is back');
  }
}

/** A connection that has a slot. */
interface OpenScan {
  readonly stream: ClamdStream;
  readonly release: () => void;
}

class FileScan implements UploadScan {
  readonly #scanner: Scanner;
  readonly #account: string;
  #open: OpenScan | null = null;
  #outcome: ScanOutcome | null = null;
  /** Ends with the bytes so far. */
  #added: Promise<void> | null = null;
  #size = 0;
  #dropped = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(scanner: Scanner, account: string) {
    this.#scanner = scanner;
    this.#account = account;
  }

  /** Whether more bytes change nothing. */
  get isOver(): boolean {
    return this.#outcome !== null || this.#dropped;
  }

  /** Waits for a connection. */
  async connect(signal?: AbortSignal): Promise<void> {
    this.#use(await this.#scanner.open(this.#account, signal));
  }

  update(part: Pick<Part, 'chunks' | 'size'>): Promise<void> {
    const added = this.#added === null ? this.#add(part) : this.#added.then(() => this.#add(part));
    this.#added = added;
    return added;
  }

  async end(last: Pick<Part, 'chunks' | 'size'> | null): Promise<ScanOutcome> {
    if (this.#added === null && last !== null) {
      if (last.size === 0) this.#outcome = clean;
      else if (last.size > this.#scanner.maxBytes) this.#outcome = tooLarge;
      else if (!this.isOver && this.#open === null) await this.connect();
    }
    await (last === null ? this.#added : this.update(last));
    clearTimeout(this.#idle);
    if (this.#open !== null && !this.isOver) {
      const outcome = await this.#scanner.verdict(this.#open);
      this.#finish(outcome);
    }
    return this.#scanner.counted(this.#outcome ?? (this.#size === 0 ? clean : postponed));
  }

  drop(): void {
    this.#dropped = true;
    this.#close();
  }

  async #add(part: Pick<Part, 'chunks' | 'size'>): Promise<void> {
    this.#size += part.size;
    if (this.isOver || part.size === 0) return;
    if (this.#size > this.#scanner.maxBytes) {
      this.#finish(tooLarge);
      return;
    }
    clearTimeout(this.#idle);
    if (this.#open === null) this.#use(this.#scanner.openNow(this.#account));
    const open = this.#open;
    if (open === null) return;
    await open.stream.write(part);
    // an early answer: the file is too large, or clamd is gone
    if (open.stream.isOver && !this.isOver) this.#finish(await this.#scanner.verdict(open));
    if (this.isOver) return;
    // the file is read again later: a slow client keeps no connection from others
    this.#idle = setTimeout(() => this.#finish(postponed), this.#scanner.times.idle).unref();
  }

  #use(opened: OpenScan | ScanOutcome): void {
    if ('is' in opened) this.#outcome ??= opened;
    else this.#open = opened;
    if (this.#dropped) this.#close();
  }

  #finish(outcome: ScanOutcome): void {
    this.#outcome ??= outcome;
    this.#close();
  }

  #close(): void {
    clearTimeout(this.#idle);
    this.#open?.stream.close();
    this.#open?.release();
    this.#open = null;
  }
}
