import { LRUCache } from 'lru-cache';
import { LockRefused, type ProcessLock } from '#coordination/redis/process-lock.ts';
import { fileRefused, tooLargeToScan } from '#kernel/errors/catalogue.ts';
import { createSharedDeadline, resultWithin, withDeadline } from '#kernel/limits/deadline.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile, HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { StateQuery } from '../catalogue/file-statements.ts';
import type { ScanOutcome } from '../scan/scan-outcome.ts';
import type { Scanner } from '../scan/scanner.ts';
import { type ScanPolicy, stateOfStored, stateOfUpload, tooLargeSignature } from './scan-policy.ts';

/** Hears of a file in which the scanner found something. It may be told twice if a process dies. */
export type OnRefused = (file: CloudFile, signature: string, signal: AbortSignal) => Promise<void>;

interface FileChecksDeps {
  readonly scanner: Pick<Scanner, 'scan' | 'begin' | 'answers' | 'maxBytes' | 'isAway'>;
  readonly policy: ScanPolicy;
  readonly cloudFiles: Pick<CloudFiles, 'change' | 'withState'>;
  readonly store: Pick<ObjectStore, 'read'>;
  readonly onRefused: OnRefused;
  /** Lets one process at a time look for files that wait. */
  readonly lock: ProcessLock;
  /** No other process scans files: all that wait are looked for, and not only those that another may not be scanning. */
  readonly alone: boolean;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Between two looks for files that wait. Milliseconds. */
  readonly interval: number;
  /** How long the request that completes an upload waits for its verdict. Milliseconds. */
  readonly patience?: number;
}

/** What is known of a file after a check. */
interface Checked {
  /** undefined: it is published. */
  readonly state: HiddenState | undefined;
  readonly signature?: string | undefined;
}

/** Longest time between two looks while the scanner is away. Milliseconds. */
const whileAway = 5000;
/** The slowest expected read from the object store. Bytes per millisecond. */
const slowestRead = 1000;
/** Of a check, beside what its size takes, and of the change of a row. Milliseconds. */
const checkTimeout = 300_000;
const changeDeadline = createSharedDeadline(30_000);
const lookTimeout = 30_000;
/** Files of one look, and of one account in it. */
const filesAtOnce = { all: 500, account: 50 };
const scansAtOnce = 4;
/** How long a process leaves a file alone that the scanner does not take, or that can't be read. Milliseconds. */
const rest = { tooLarge: 3_600_000, failed: 300_000 };
/** A file that is younger may be in the hands of another process. Milliseconds. */
const othersTake = 120_000;

/**
 * Scans files that are stored already: those of resumable and direct uploads, those that were not scanned while they came,
 * and those that the janitor found. Until then they are not published (docs/decisions/088-scan-before-publish.md).
 */
export class FileChecks {
  readonly #deps: FileChecksDeps;
  readonly #closing = new AbortController();
  readonly #running = new Map<string, Promise<Checked>>();
  /** Files that are left alone for a while. */
  readonly #resting = new LRUCache<string, true>({ ...upTo(10_000), ttl: rest.failed });
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(deps: FileChecksDeps) {
    this.#deps = deps;
  }

  /** Looks at the bytes of uploads while they come. */
  get scanner(): Pick<Scanner, 'begin'> {
    return this.#deps.scanner;
  }

  /** Throws 413 for a size that could only be refused. @param size bytes, at least */
  assertTakes(size: number): void {
    const { policy, scanner } = this.#deps;
    if (policy === 'refuse' && size > scanner.maxBytes) throw tooLargeToScan(scanner.maxBytes);
  }

  /** The state of a file whose bytes were scanned while they came. Throws 413 or 503 for one that is not to be stored. */
  stateOf(outcome: ScanOutcome): HiddenState | undefined {
    const { policy, scanner } = this.#deps;
    return stateOfUpload(outcome, policy, scanner.maxBytes);
  }

  /** A file, stored with this outcome, for its client. Throws 422 if something was found in it. */
  async settled(file: CloudFile, outcome: ScanOutcome): Promise<CloudFile> {
    if (outcome.is === 'found') {
      await this.#tell(file, outcome.signature);
      throw fileRefused(outcome.signature);
    }
    // a scanner that has just failed is not asked again at once
    return outcome.is === 'postponed' ? this.settle(file) : file;
  }

  /** Waits a little for the verdict on a stored file. Throws 422 if something was found in it. */
  async settle(file: CloudFile): Promise<CloudFile> {
    if (file.state === 'refused') throw fileRefused();
    if (file.state === undefined) return file;
    const { patience = 10_000 } = this.#deps;
    const checked = await resultWithin(this.#check(file), patience);
    if (checked?.state === 'refused') throw fileRefused(checked.signature);
    return checked === null || checked.state === file.state ? file : { ...file, state: undefined };
  }

  /** Looks for files that wait, now and on a timer. */
  start(): void {
    const { interval, scanner } = this.#deps;
    this.#looking = this.look().then(() => {
      if (this.#closing.signal.aborted) return;
      const pause = scanner.isAway ? Math.min(interval, whileAway) : interval;
      this.#timer = setTimeout(() => this.start(), pause).unref();
    });
  }

  /** Scans files that wait. Never rejects. */
  async look(): Promise<void> {
    const { lock, log } = this.#deps;
    try {
      await lock.hold((lost) => this.#lookOnce(AbortSignal.any([lost, this.#closing.signal])));
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      if (error instanceof LockRefused && error.reason === 'held') return;
      log.warn({ err: error }, 'files that wait for the virus scanner were not found');
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closing.abort(new Error('the server is stopping'));
    await this.#looking;
    await Promise.allSettled(this.#running.values());
  }

  async #lookOnce(signal: AbortSignal): Promise<void> {
    const { scanner, cloudFiles, policy, alone } = this.#deps;
    for (let progress = true; progress && !signal.aborted; ) {
      // with the policy publish, files wait for nobody
      if (policy !== 'publish' && !(await scanner.answers())) return;
      const query: StateQuery = {
        state: 'checking',
        before: new Date(Date.now() - (alone ? 0 : othersTake)),
        // larger ones wait for the operator
        ...(policy === 'hold' && { largest: scanner.maxBytes }),
        limit: filesAtOnce.all,
        perOwner: filesAtOnce.account,
      };
      const files = await withDeadline(signal, lookTimeout, (attempt) =>
        cloudFiles.withState(query, attempt.signal),
      );
      progress = false;
      await forEachAtOnce(files, scansAtOnce, async (file) => {
        if (signal.aborted || this.#resting.has(file.name)) return;
        const { state } = await this.#check(file);
        if (state !== file.state) progress = true;
      });
    }
  }

  /** Never rejects: a file that can't be checked now waits for the next look. */
  #check(file: CloudFile): Promise<Checked> {
    const running = this.#running.get(file.name);
    if (running !== undefined) return running;
    const check = this.#checkNow(file)
      .catch((error: unknown): Checked => {
        this.#resting.set(file.name, true);
        if (!this.#closing.signal.aborted)
          this.#deps.log.warn({ err: error, name: file.name }, 'a file waits for the virus scanner');
        return { state: 'checking' };
      })
      .finally(() => this.#running.delete(file.name));
    this.#running.set(file.name, check);
    return check;
  }

  async #checkNow(file: CloudFile): Promise<Checked> {
    const { policy, cloudFiles, scanner } = this.#deps;
    const { name, objectKey, ownerId: account, size } = file;
    const limit = checkTimeout + Math.ceil(Math.min(size, scanner.maxBytes) / slowestRead);
    const outcome = await withDeadline(this.#closing.signal, limit, ({ signal }) => {
      const read = () => this.#deps.store.read(objectKey, null, signal);
      return scanner.scan(read, { account, size, signal });
    });
    const state = stateOfStored(outcome, policy);
    if (state === 'checking') {
      if (outcome.is === 'too large') this.#resting.set(name, true, { ttl: rest.tooLarge });
      // the file is at fault, such as one that takes long
      if (outcome.is === 'failed' && !scanner.isAway) this.#resting.set(name, true);
      return { state };
    }
    const signature = outcome.is === 'found' ? outcome.signature : tooLargeSignature;
    const signal = changeDeadline();
    // the row afterwards: a process that dies in between tells it again
    if (state === 'refused') await this.#tell(file, signature);
    await cloudFiles.change([name], { state: state ?? null }, signal);
    return { state, ...(state === 'refused' && { signature }) };
  }

  /** A webhook that can't be told is not a reason to publish the file, nor to answer anything else. */
  async #tell(file: CloudFile, signature: string): Promise<void> {
    const { log, onRefused } = this.#deps;
    const { name, ownerId, projectSlug } = file;
    log.warn({ name, ownerId, projectSlug, signature }, 'the virus scanner refuses a file');
    await onRefused({ ...file, state: 'refused' }, signature, changeDeadline()).catch((err: unknown) =>
      log.error({ err, name }, 'the refusal of a file was announced to nobody'),
    );
  }
}
