import type { Config } from '../../config/read-config.ts';
import { claimPort, type PortClaim } from '../../http/claim-port.ts';
import type { Log } from '../../log/log.ts';
import { closeTimeout } from '../close-timeout.ts';
import { type Commands, serveControlSocket } from '../control-socket.ts';
import { failStart } from '../fail-start.ts';
import { reachText } from '../listened-addresses.ts';
import { type GatheredMetrics, gatherMetrics } from './gather-metrics.ts';
import { createLeftovers, type Leftovers } from './leftovers.ts';
import type { Peer } from './peer.ts';
import { type Listening, type WorkerEnd, WorkerSlot } from './worker-slot.ts';

/** How often in a row a worker may end before it serves. */
const startAttempts = 4;
/** Beyond what workers take to drain and close: then they are killed. Milliseconds. */
const stopMargin = 5_000;
/** The janitor may have many objects to look at. Milliseconds. */
const commandTimeout = 3_600_000;

/**
 * Runs `config.workers` processes of this same program on one port, until a signal stops them. It claims the port,
 * starts them anew when they end, takes the operator's commands for them, and hands on what they tell each other. It
 * opens no store. When it dies, the workers drain and end.
 */
export async function superviseWorkers(config: Config, log: Log): Promise<void> {
  const claim = await claimPort(config);
  await new Supervisor(config, log, claim).run();
}

class Supervisor {
  readonly #config: Config;
  readonly #log: Log;
  readonly #port: number;
  readonly #slots: readonly WorkerSlot[];
  readonly #leftovers: Leftovers;
  readonly #metrics: (asking: WorkerSlot) => Promise<GatheredMetrics>;
  /** While no worker listens, so that nobody else does. */
  #claim: PortClaim | null;
  #stopping = false;
  /** All have listened, and the address was printed. */
  #announced = false;
  /** The address and the commands of the first worker. */
  #first: Listening = { url: '', note: '', commands: [] };
  #whenAllListen: () => void = () => {};
  #whenAllEnded: () => void = () => {};
  #socket: { close(): Promise<void> } | null = null;

  constructor(config: Config, log: Log, claim: PortClaim) {
    this.#config = config;
    this.#log = log;
    this.#claim = claim;
    this.#port = claim.port;
    const events = {
      listening: this.#onListening.bind(this),
      ended: this.#onEnded.bind(this),
      connected: this.#onConnected.bind(this),
    };
    this.#slots = Array.from(
      { length: config.workers },
      (_, index) => new WorkerSlot(index + 1, claim.port, events),
    );
    this.#leftovers = createLeftovers({
      log,
      sweepers: () => this.#serving().map(({ peer }) => peer as Peer),
    });
    this.#metrics = gatherMetrics(this.#slots);
  }

  /** Resolves when all workers listen. */
  async run(): Promise<void> {
    process.on('SIGTERM', (signal) => this.#onSignal(signal));
    process.on('SIGINT', (signal) => this.#onSignal(signal));
    const allListen = new Promise<void>((resolve) => {
      this.#whenAllListen = resolve;
    });
    this.#slots[0]?.start();
    await allListen;
    this.#announced = true;
    const { url, note, commands } = this.#first;
    this.#socket = await serveControlSocket({
      dataDir: this.#config.dataDir,
      commands: forwarded(commands, () => this.#serving()),
      log: this.#log,
    });
    process.stdout.write(`Sluice listens on ${url}\n${note}${reachText(this.#config, this.#port)}`);
  }

  #serving(): WorkerSlot[] {
    return this.#slots.filter(({ peer }) => peer !== null);
  }

  #onConnected(slot: WorkerSlot, peer: Peer): void {
    peer.on('token-changed', (hash: string) => {
      for (const other of this.#slots) if (other !== slot) other.peer?.tell('token-changed', hash);
    });
    peer.answer('metrics', () => this.#metrics(slot));
    peer.answer('open-uploads', async () => this.#slots.flatMap(({ openUploads }) => openUploads));
  }

  #onListening(slot: WorkerSlot, listening: Listening): void {
    this.#claim?.release();
    this.#claim = null;
    slot.peer?.tell('port-released', null);
    this.#log.info({ worker: slot.index, workerPid: slot.pid }, 'a worker listens');
    this.#leftovers.sweep();
    if (this.#announced) return;
    // the first one brings the tables up to date, and makes the first token, before the others start
    if (slot.index === 1) {
      this.#first = listening;
      for (const other of this.#slots.slice(1)) if (!other.running) other.start();
    }
    if (this.#serving().length === this.#slots.length) this.#whenAllListen();
  }

  #onEnded(slot: WorkerSlot, end: WorkerEnd): void {
    this.#leftovers.add(end.uploads);
    this.#leftovers.sweep();
    // beside others that serve, one that can't start may wait for better times
    const alone = !this.#announced || this.#serving().length === 0;
    if (this.#stopping) this.#onStopped(slot, end);
    else if (slot.failedStarts >= startAttempts && alone) this.#giveUp(slot, end);
    else this.#restart(slot, end);
  }

  #restart(slot: WorkerSlot, end: WorkerEnd): void {
    const delay = slot.restart(() => void this.#startAgain(slot));
    this.#log.error(
      { worker: slot.index, end: describe(end), uploads: end.uploads.length, delay },
      'a worker ended: it is started again',
    );
  }

  #onStopped(slot: WorkerSlot, end: WorkerEnd): void {
    if (this.#slots.every(({ running }) => !running)) this.#whenAllEnded();
    if (!end.listened || end.status === 0) return;
    this.#log.error({ worker: slot.index, end: describe(end) }, 'a worker did not end in order');
    process.exitCode = 1;
  }

  async #startAgain(slot: WorkerSlot): Promise<void> {
    try {
      // a stranger could have listened there while none of ours did
      if (this.#claim === null && this.#serving().length === 0) {
        this.#claim = await claimPort({ ...this.#config, port: this.#port });
      }
    } catch (error) {
      this.#log.error({ worker: slot.index, err: error }, 'the port is lost');
    }
    if (!this.#stopping) slot.start();
  }

  #giveUp(slot: WorkerSlot, end: WorkerEnd): void {
    this.#stopping = true;
    this.#signalAll('SIGTERM');
    const error = new Error(
      `worker ${slot.index} ended ${slot.failedStarts} times in a row before it served (${describe(end)}): giving up`,
    );
    void this.#untilEnded().then(() => failStart(error));
  }

  #onSignal(signal: NodeJS.Signals): void {
    this.#signalAll(this.#stopping ? signal : 'SIGTERM');
    if (this.#stopping) return;
    this.#stopping = true;
    this.#log.info({ signal }, 'stopping');
    void this.#untilEnded().then(async (inTime) => {
      await this.#socket?.close();
      if (!inTime) this.#log.error('the stop took too long');
      process.exit(inTime ? (process.exitCode ?? 0) : 1);
    });
  }

  #signalAll(name: NodeJS.Signals): void {
    for (const slot of this.#slots) slot.signal(name);
  }

  /** Whether all workers ended by themselves; those that did not in time are killed. */
  #untilEnded(): Promise<boolean> {
    const { drainDelay, drainTimeout } = this.#config;
    return new Promise((resolve) => {
      if (this.#slots.every(({ running }) => !running)) return resolve(true);
      const kill = (): void => {
        this.#signalAll('SIGKILL');
        resolve(false);
      };
      const timer = setTimeout(kill, drainDelay + drainTimeout + closeTimeout + stopMargin);
      this.#whenAllEnded = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

/** Commands of the operator, which any worker that serves carries out. */
function forwarded(names: readonly string[], serving: () => WorkerSlot[]): Commands {
  return Object.fromEntries(
    names.map((name) => [
      name,
      async (order: unknown) => {
        const peer = serving()[0]?.peer;
        if (peer === undefined || peer === null) throw new Error('no worker serves');
        return (await peer.ask('command', { name, order }, commandTimeout)) as string;
      },
    ]),
  );
}

function describe({ status, signal }: WorkerEnd): string {
  return signal === null ? `exit status ${status}` : `signal ${signal}`;
}
