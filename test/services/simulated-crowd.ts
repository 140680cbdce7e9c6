import { watchInterval } from '#gateway/memory/take-back.ts';
import { UploadMemory } from '#gateway/memory/upload-memory.ts';
import { SimulatedUpload } from './simulated-upload.ts';

const MiB = 1024 * 1024;
/** What sockets keep while nobody reads them. */
const backlog = 2 * MiB;
/** How long bytes gather before they are read. Milliseconds. */
const readInterval = 20;

export interface Crowd {
  readonly uploads: number;
  readonly size: number;
  /** Of each client. Bytes a second. */
  readonly rate: number;
  /** When they begin. Milliseconds. */
  readonly at?: number;
  readonly lengthKnown?: boolean;
  /** Whose they are. */
  readonly account?: string;
  /** Each sends so many bytes, and then nothing; who is cut comes again, until the others are done. */
  readonly silentAfter?: number;
}

export interface CrowdResult {
  readonly stored: number;
  readonly cut: number;
  /** From the crowd's begin to its last stored byte. */
  readonly seconds: number;
  /** Bytes a second. */
  readonly goodput: number;
  /** What the slowest upload took. */
  readonly slowest: number;
}

export interface CrowdOptions {
  readonly budget: number;
  /** Of each connection. Bytes a second. */
  readonly storeRate: number;
  /** The store takes parts of any size. */
  readonly shortParts?: boolean;
}

/** A clock that jumps from one event to the next, so that a run depends on nothing but its numbers. */
class Timeline {
  now = 0;
  readonly #events: { at: number; order: number; run: () => void }[] = [];
  #order = 0;

  after(milliseconds: number, run: () => void): void {
    const event = { at: this.now + Math.max(0, milliseconds), order: this.#order++, run };
    let low = 0;
    let high = this.#events.length;
    // the next one is the last
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#events[middle] as typeof event;
      if (other.at > event.at || (other.at === event.at && other.order > event.order)) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
  }

  next(): boolean {
    const event = this.#events.pop();
    if (event === undefined) return false;
    this.now = event.at;
    event.run();
    return true;
  }
}

/**
 * Crowds of uploads through one memory to a store that takes so many bytes a second on each connection: what comes of
 * each crowd, and the most that was in use.
 */
export function simulateCrowds(
  crowds: readonly Crowd[],
  { budget, storeRate, shortParts = false }: CrowdOptions,
): { results: CrowdResult[]; mostUsed: number; meanConnections: number } {
  const time = new Timeline();
  const memory = new UploadMemory({
    bytes: budget,
    largestPart: 8 * MiB,
    minRate: 8192,
    ratePeriod: 5000,
    waitLimit: 60_000,
    now: () => time.now,
  });
  let open = crowds.reduce((sum, { uploads, silentAfter }) => sum + (silentAfter ? 0 : uploads), 0);
  /** Of each upload that goes on: sees what the memory has done to it. */
  const looks = new Set<() => void>();
  let mostUsed = 0;
  let busy = 0;
  const watch = (): void => {
    memory.watch();
    for (const look of looks) look();
    if (open > 0) time.after(watchInterval, watch);
  };
  const begin = (crowd: Crowd, onEnd: (upload: SimulatedUpload, seconds: number) => void): void => {
    const begun = time.now;
    let scheduled = false;
    let sent = 0;
    const schedule = (): void => {
      if (scheduled) return;
      scheduled = true;
      time.after(readInterval, () => read());
    };
    const upload = new SimulatedUpload(
      memory,
      {
        size: crowd.size,
        partBytes: (shortParts ? 1 : memory.short ? 5 : 8) * MiB,
        readBytes: 0,
        parallel: shortParts ? 1 : 3,
        lengthKnown: crowd.lengthKnown ?? true,
        account: crowd.account ?? '',
        shortParts,
        ...(crowd.silentAfter === undefined ? {} : { silentAfter: crowd.silentAfter }),
      },
      schedule,
    );
    let lastRead = begun;
    const read = (): void => {
      scheduled = false;
      // the client sends on into the socket while it is not read
      sent = Math.min(upload.received + backlog, sent + ((time.now - lastRead) / 1000) * crowd.rate);
      lastRead = time.now;
      const bytes = Math.floor(sent - upload.received);
      if (upload.reading && bytes > 0) upload.read(bytes);
      mostUsed = Math.max(mostUsed, memory.used);
      ship();
      if (upload.reading) schedule();
    };
    let underWay = 0;
    const ship = (): void => {
      for (; underWay < upload.inFlight.length; underWay++) {
        const bytes = (upload.inFlight[underWay] as Buffer[]).length * 64 * 1024;
        busy += (bytes / storeRate) * 1000;
        time.after((bytes / storeRate) * 1000, () => {
          underWay--;
          upload.stored();
          if (upload.done) end();
        });
      }
    };
    const end = (): void => {
      looks.delete(look);
      if (crowd.silentAfter === undefined) open--;
      onEnd(upload, (time.now - begun) / 1000);
      if (crowd.silentAfter !== undefined && open > 0) time.after(300, () => begin(crowd, onEnd));
    };
    const look = (): void => {
      ship();
      if (upload.cut !== null) end();
    };
    looks.add(look);
    // it may have had room at once, before there was a name for it
    if (upload.reading) schedule();
  };
  const results = crowds.map((crowd) => {
    const result = { stored: 0, cut: 0, seconds: 0, goodput: 0, slowest: 0 };
    time.after(crowd.at ?? 0, () => {
      const begun = time.now;
      for (let i = 0; i < crowd.uploads; i++) {
        begin(crowd, (upload, seconds) => {
          if (upload.cut === null) result.stored++;
          else result.cut++;
          result.slowest = Math.max(result.slowest, seconds);
          result.seconds = (time.now - begun) / 1000;
          result.goodput = (result.stored * crowd.size) / result.seconds;
        });
      }
    });
    return result;
  });
  time.after(watchInterval, watch);
  let ended = 0;
  while (time.next()) if (open > 0) ended = time.now;
  memory.close();
  return { results, mostUsed, meanConnections: busy / ended };
}
