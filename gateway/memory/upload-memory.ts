import { WaitingLine } from './waiting-line.ts';

/** Bytes of one slab: what an upload takes at a time, so that a slow one holds little more than what has arrived. */
export const slabBytes = 64 * 1024;
/** Bytes that a read may bring: at first, and at most (the native receive buffer). */
const firstCredit = 64 * 1024;
const largestCredit = 512 * 1024;
/** How often slow and waiting uploads are looked at. Milliseconds. */
const watchInterval = 1000;

/** What an upload does when its memory says so. */
export interface MemoryClient {
  /** Memory is short: nothing more may be read until `resume`. */
  pause(): void;
  resume(): void;
  /** It was too slow while it held memory and others waited, or it waited too long itself. */
  cut(reason: 'slow' | 'waited'): void;
}

export interface UploadMemoryOptions {
  /** The budget of the process. */
  readonly bytes: number;
  /** The largest part that an upload may have to gather. */
  readonly largestPart: number;
  /** Bytes a second below which an upload is cut while it holds memory and others wait. */
  readonly minRate: number;
  /** Milliseconds over which that rate is taken. */
  readonly ratePeriod: number;
  /** Milliseconds that an upload may wait for memory. */
  readonly waitLimit: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * The memory of all uploads of a process, as slabs. An upload may read while the slabs in use, and what the uploads
 * that read are expected to bring next, fit into the budget; otherwise it waits its turn with its socket paused.
 *
 * Uploads could come to hold all memory in parts that are not full yet, each waiting for more. So room for one
 * largest part is kept back, and one waiting upload at a time, the fastest, is favoured: it may read until its part
 * is full. The part goes to the store and comes back, with more slabs than the favour took, so the next upload can be
 * favoured, and the memory in use never exceeds the budget by more than single reads that were larger than expected.
 * test/unit/upload-memory.test.ts simulates it.
 */
export class UploadMemory {
  readonly #options: UploadMemoryOptions;
  readonly #now: () => number;
  readonly #free: Buffer[] = [];
  readonly #open = new Set<MemoryLease>();
  readonly #line = new WaitingLine<MemoryLease>();
  readonly #watcher: NodeJS.Timeout;
  #used = 0;
  #credits = 0;
  #favoured: MemoryLease | null = null;
  /** The favoured upload has filled its part, which has yet to come back. */
  #favourSpent = false;

  constructor(options: UploadMemoryOptions) {
    if (options.bytes < options.largestPart + 2 * largestCredit) {
      throw new RangeError('the upload memory must hold the largest part and two reads');
    }
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#watcher = setInterval(() => this.watch(), watchInterval);
    this.#watcher.unref();
  }

  /** Bytes of slabs that uploads hold. */
  get used(): number {
    return this.#used;
  }

  /** Uploads that wait for memory. */
  get waiting(): number {
    return this.#line.size;
  }

  /** Whether an upload waits for memory. */
  get contended(): boolean {
    return this.#line.size > 0;
  }

  /** Begins an upload. It may not read before it has asked by `want`, and its client's `resume` is called. */
  open(client: MemoryClient): MemoryLease {
    const lease = new MemoryLease(this, client, this.#now());
    this.#open.add(lease);
    return lease;
  }

  close(): void {
    clearInterval(this.#watcher);
  }

  /** @internal of MemoryLease */
  take(lease: MemoryLease): Buffer {
    this.#used += slabBytes;
    lease.held += slabBytes;
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(slabBytes);
  }

  /** @internal of MemoryLease */
  give(lease: MemoryLease, slabs: readonly Buffer[]): void {
    const bytes = slabs.length * slabBytes;
    this.#used -= bytes;
    lease.held -= bytes;
    // what was over the budget for a moment is not kept
    for (const slab of slabs) {
      if (this.#used + (this.#free.length + 1) * slabBytes <= this.#options.bytes) this.#free.push(slab);
    }
    if (this.#favoured === lease && this.#favourSpent) this.#favoured = null;
    this.admit();
  }

  /** @internal of MemoryLease: a part is full and on its way to the store. */
  shipped(lease: MemoryLease): void {
    if (this.#favoured === lease) this.#favourSpent = true;
  }

  /** @internal of MemoryLease: a read has brought bytes. */
  arrived(lease: MemoryLease, bytes: number): void {
    lease.arrivedBytes += bytes;
    if (!lease.reading) return;
    this.#credits -= lease.credit;
    lease.credit = Math.min(largestCredit, Math.max(firstCredit, 2 * bytes));
    this.#credits += lease.credit;
    if (this.#fits(lease, 0)) return;
    this.#stopReading(lease);
    this.#wait(lease);
    lease.client.pause();
    this.admit();
  }

  /** @internal of MemoryLease: the upload itself has no use for more just now. */
  idle(lease: MemoryLease): void {
    this.#stopReading(lease);
    this.#line.remove(lease);
    // what it holds goes to the store, or it is waiting for the store already
    this.shipped(lease);
    this.admit();
  }

  /** @internal of MemoryLease: the upload wants to read again. */
  want(lease: MemoryLease): void {
    if (lease.reading || this.#line.has(lease)) return;
    this.#wait(lease);
    this.admit();
  }

  /** @internal of MemoryLease */
  end(lease: MemoryLease): void {
    this.#stopReading(lease);
    this.#line.remove(lease);
    this.#open.delete(lease);
    if (this.#favoured === lease) this.#favoured = null;
    this.admit();
  }

  /** Lets those who wait read, in turn, as far as memory reaches; the favoured one in any case. */
  admit(): void {
    if (this.#favoured !== null && this.#line.has(this.#favoured) && !this.#favourSpent) {
      this.#startReading(this.#favoured);
    }
    for (let next = this.#line.first; next !== undefined; next = this.#line.first) {
      if (!this.#fits(next, next.credit)) {
        if (this.#favoured !== null) return;
        next = this.#fastestWaiting();
        this.#favoured = next;
        this.#favourSpent = false;
      }
      this.#startReading(next);
    }
  }

  /** Cuts what is too slow while others wait, and what has waited too long. Called by a timer. */
  watch(): void {
    const now = this.#now();
    const { minRate, ratePeriod, waitLimit } = this.#options;
    const contended = this.contended;
    for (const lease of this.#open) {
      if (this.#line.has(lease) && now - lease.waitingSince > waitLimit) {
        lease.client.cut('waited');
        continue;
      }
      // only time in which the client could send counts, and only while its slowness costs others
      if (!contended || !lease.reading || lease.held === 0) {
        lease.startRatePeriod(now);
      } else if (now - lease.ratePeriodSince >= ratePeriod) {
        const rate = (lease.arrivedBytes * 1000) / (now - lease.ratePeriodSince);
        lease.startRatePeriod(now);
        if (rate < minRate) lease.client.cut('slow');
      }
    }
  }

  #fits(lease: MemoryLease, more: number): boolean {
    if (this.#favoured === lease && !this.#favourSpent) return true;
    const { bytes, largestPart } = this.#options;
    return this.#used + this.#credits + more <= bytes - largestPart;
  }

  #startReading(lease: MemoryLease): void {
    this.#line.remove(lease);
    lease.reading = true;
    lease.readingSince = this.#now();
    this.#credits += lease.credit;
    lease.client.resume();
  }

  #wait(lease: MemoryLease): void {
    lease.waitingSince = this.#now();
    this.#line.add(lease);
  }

  #stopReading(lease: MemoryLease): void {
    if (!lease.reading) return;
    lease.reading = false;
    lease.readMilliseconds += this.#now() - lease.readingSince;
    this.#credits -= lease.credit;
  }

  #fastestWaiting(): MemoryLease {
    let fastest = this.#line.first as MemoryLease;
    for (const lease of this.#line) {
      if (lease.speed > fastest.speed) fastest = lease;
    }
    return fastest;
  }
}

/** One upload's share of the memory. */
export class MemoryLease {
  readonly client: MemoryClient;
  readonly #memory: UploadMemory;
  /** @internal of UploadMemory, like all fields below */
  held = 0;
  reading = false;
  readingSince = 0;
  readMilliseconds = 0;
  waitingSince = 0;
  credit = firstCredit;
  arrivedBytes = 0;
  totalBytes = 0;
  ratePeriodSince: number;
  #closed = false;

  constructor(memory: UploadMemory, client: MemoryClient, now: number) {
    this.#memory = memory;
    this.client = client;
    this.ratePeriodSince = now;
  }

  /** Bytes a millisecond in the time in which it could send. */
  get speed(): number {
    return (this.totalBytes + this.arrivedBytes) / (this.readMilliseconds + 1);
  }

  startRatePeriod(now: number): void {
    this.totalBytes += this.arrivedBytes;
    this.arrivedBytes = 0;
    this.ratePeriodSince = now;
  }

  /** A slab for bytes that have arrived. There is always one: what is short is the permission to read more. */
  take(): Buffer {
    return this.#memory.take(this);
  }

  give(slabs: readonly Buffer[]): void {
    if (slabs.length > 0) this.#memory.give(this, slabs);
  }

  /** Tells that a read has brought bytes, after slabs were taken for them. May pause the client. */
  arrived(bytes: number): void {
    this.#memory.arrived(this, bytes);
  }

  /** Tells that a part is full and on its way to the store, which will give its slabs back. */
  shipped(): void {
    this.#memory.shipped(this);
  }

  /** The upload reads no more for now, for a reason of its own. */
  idle(): void {
    this.#memory.idle(this);
  }

  /** The upload would read: `resume` is called when it may, which may be at once. */
  want(): void {
    if (!this.#closed) this.#memory.want(this);
  }

  /** Ends the upload. All slabs must have been given back. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#memory.end(this);
  }
}
