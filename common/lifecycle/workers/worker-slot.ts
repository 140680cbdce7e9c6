import { type ChildProcess, fork } from 'node:child_process';
import { OpenUploads, type UploadNews } from './open-uploads.ts';
import { createPeer, type Peer } from './peer.ts';
import { restartDelay } from './restart-delay.ts';
import { writeWorkerArguments } from './worker-arguments.ts';

/** What a worker tells when it listens. */
export interface Listening {
  readonly url: string;
  /** What is said of that address when all listen. */
  readonly note: string;
  /** Names of the commands that it carries out. */
  readonly commands: readonly string[];
}

/** How a worker ended. */
export interface WorkerEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It had listened before. */
  readonly listened: boolean;
  /** Object keys of uploads that it left in the middle. */
  readonly uploads: readonly string[];
}

export interface WorkerSlotEvents {
  listening(slot: WorkerSlot, what: Listening): void;
  ended(slot: WorkerSlot, end: WorkerEnd): void;
  /** A message of a worker; also what is asked. */
  connected(slot: WorkerSlot, peer: Peer): void;
}

/** A worker that has listened for so long is sound: what comes next is no failure of its start. Milliseconds. */
const sound = 60_000;

/** The place of one worker, and whichever process fills it. */
export class WorkerSlot {
  readonly index: number;
  readonly #port: number;
  readonly #events: WorkerSlotEvents;
  #child: ChildProcess | null = null;
  #uploads = new OpenUploads();
  #peer: Peer | null = null;
  #listeningSince: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #failedStarts = 0;
  #starts = 0;

  constructor(index: number, port: number, events: WorkerSlotEvents) {
    this.index = index;
    this.#port = port;
    this.#events = events;
  }

  /** Null unless its worker serves. */
  get peer(): Peer | null {
    return this.#listeningSince === null ? null : this.#peer;
  }

  /** Object keys of the uploads that its worker has open. */
  get openUploads(): readonly string[] {
    return this.#uploads.keys;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  /** Workers in a row that ended before they served. */
  get failedStarts(): number {
    return this.#failedStarts;
  }

  /** Runs this same program as a worker. */
  start(): void {
    this.#timer = null;
    this.#starts++;
    const script = process.argv[1] as string;
    const child = fork(script, writeWorkerArguments({ index: this.index, port: this.#port }));
    const uploads = new OpenUploads();
    this.#uploads = uploads;
    const peer = createPeer(child);
    let over = false;
    this.#child = child;
    this.#peer = peer;
    peer.on('uploads', (news: UploadNews) => uploads.note(news));
    peer.on('listening', (what: Listening) => {
      this.#listeningSince = performance.now();
      this.#failedStarts = 0;
      this.#events.listening(this, what);
    });
    this.#events.connected(this, peer);
    const end = (status: number | null, signal: NodeJS.Signals | null): void => {
      if (over) return;
      over = true;
      peer.close();
      const since = this.#listeningSince;
      if (since !== null && performance.now() - since > sound) this.#failures = 0;
      this.#failures++;
      if (since === null) this.#failedStarts++;
      this.#child = null;
      this.#peer = null;
      this.#listeningSince = null;
      this.#events.ended(this, { status, signal, listened: since !== null, uploads: uploads.take() });
    };
    // 'close', and not 'exit': what the worker sent before it died has been read by then
    child.once('close', end);
    child.once('error', () => {
      if (child.pid === undefined) end(null, null);
    });
  }

  /** Starts it again after a while, which is longer after each failure. Answers how long, in milliseconds. */
  restart(start: () => void): number {
    const delay = restartDelay(this.#failures);
    this.#timer = setTimeout(start, delay);
    return Math.round(delay);
  }

  signal(name: NodeJS.Signals): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#child?.kill(name);
  }
}
