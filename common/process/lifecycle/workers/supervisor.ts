import { type ChildProcess, fork } from 'node:child_process';
import type { Config } from '#kernel/config/read-config.ts';
import type { Log } from '#kernel/log/log.ts';
import type { WorkerState } from '#kernel/telemetry/render-metrics.ts';
import { claimPort, type PortClaim } from '#server/http/claim-port.ts';
import { failStart } from '../command-line.ts';
import { closeTimeout } from '../stop-signals.ts';
import { createPeer, type Peer } from './peer.ts';
import { workerArguments } from './worker-place.ts';

/** Pause before an ended worker is restarted, so that a crash loop costs little. Milliseconds. */
const restartDelay = 1000;
/** Time after the drain and close of workers until they are killed. Milliseconds. */
const stopMargin = 5000;
/** Workers answer from memory: a slower worker is stuck or exiting. Milliseconds. */
const metricsTimeout = 1000;

/** The metrics for a scrape of any worker. */
export interface GatheredMetrics {
  /** The metrics of each worker that answered, as prom-client's JSON. */
  readonly processes: readonly (readonly object[])[];
  readonly workers: readonly WorkerState[];
}

/** A worker's place, and the process that currently fills it. */
interface Worker {
  readonly index: number;
  running: { readonly child: ChildProcess; readonly peer: Peer } | null;
  serves: boolean;
  starts: number;
}

/**
 * Runs `config.workers` processes of this program on one port, until a signal stops them. It claims the port, restarts
 * workers that end, and collects their metrics. It opens no store. When it dies, the workers drain and end.
 */
export async function superviseWorkers(config: Config, log: Log): Promise<void> {
  new Supervisor(config, log, await claimPort(config)).start();
}

class Supervisor {
  readonly #config: Config;
  readonly #log: Log;
  readonly #port: number;
  readonly #workers: readonly Worker[];
  /** The claim of the port, until a worker listens. */
  #claim: PortClaim | null;
  #stopping = false;
  #whenAllEnded: () => void = () => {};

  constructor(config: Config, log: Log, claim: PortClaim) {
    this.#config = config;
    this.#log = log;
    this.#claim = claim;
    this.#port = claim.port;
    this.#workers = Array.from({ length: config.workers }, (_, index) => ({
      index: index + 1,
      running: null,
      serves: false,
      starts: 0,
    }));
  }

  /** The first worker migrates the tables and creates the first token before the others start. */
  start(): void {
    process.on('SIGTERM', (signal) => this.#onSignal(signal));
    process.on('SIGINT', (signal) => this.#onSignal(signal));
    this.#startWorker(this.#workers[0] as Worker);
  }

  /** Runs this program as a worker. */
  #startWorker(worker: Worker): void {
    if (this.#stopping) return;
    const child = fork(process.argv[1] as string, workerArguments({ index: worker.index, port: this.#port }));
    const peer = createPeer(child);
    worker.running = { child, peer };
    worker.starts++;
    peer.on('listening', () => this.#onListening(worker));
    peer.on('metrics', () => this.#metrics());
    child.once('exit', (status, signal) => {
      this.#onEnded(worker, signal === null ? `exit status ${status}` : `signal ${signal}`, status);
    });
    child.on('error', (error) => {
      if (child.pid === undefined) this.#onEnded(worker, error.message, null);
    });
  }

  /** Resolves when only workers accept connections to the port. */
  #onListening(worker: Worker): void {
    worker.serves = true;
    this.#log.info({ worker: worker.index, workerPid: worker.running?.child.pid }, 'a worker listens');
    if (this.#claim === null) return;
    this.#claim.release();
    this.#claim = null;
    for (const other of this.#workers) if (other !== worker) this.#startWorker(other);
  }

  #onEnded(worker: Worker, end: string, status: number | null): void {
    const { index, serves: served } = worker;
    Object.assign(worker, { running: null, serves: false });
    if (this.#stopping) {
      if (served && status !== 0) {
        this.#log.error({ worker: index, end }, 'a worker did not end in order');
        process.exitCode = 1;
      }
      if (this.#workers.every(({ running }) => running === null)) this.#whenAllEnded();
    } else if (served || this.#workers.some(({ serves }) => serves)) {
      this.#log.error({ worker: index, end }, 'a worker ended: it is started again');
      setTimeout(() => this.#startWorker(worker), restartDelay);
    } else {
      const error = new Error(`worker ${index} ended before it served (${end}), and no other one serves`);
      void this.#stop().then(() => failStart(error));
    }
  }

  /** The metrics of the workers that answer in time. */
  async #metrics(): Promise<GatheredMetrics> {
    const answers = await Promise.all(
      this.#workers.map(({ running, serves }) =>
        running === null || !serves
          ? null
          : running.peer.ask('metrics', metricsTimeout).then(
              (answer) => answer as readonly object[],
              () => null,
            ),
      ),
    );
    return {
      processes: answers.filter((answer) => answer !== null),
      workers: this.#workers.map(({ index, starts }, place) => ({
        worker: index,
        restarts: starts - 1,
        answered: answers[place] !== null,
      })),
    };
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (this.#stopping) {
      this.#signalAll(signal);
      return;
    }
    this.#log.info({ signal }, 'stopping');
    void this.#stop().then((inTime) => {
      if (!inTime) this.#log.error('the stop took too long');
      process.exit(inTime ? (process.exitCode ?? 0) : 1);
    });
  }

  /** Whether all workers ended by themselves in time; the others are killed. */
  #stop(): Promise<boolean> {
    this.#stopping = true;
    this.#signalAll('SIGTERM');
    const { drainDelay, drainTimeout } = this.#config;
    return new Promise((resolve) => {
      const kill = (): void => {
        this.#signalAll('SIGKILL');
        resolve(false);
      };
      setTimeout(kill, drainDelay + drainTimeout + closeTimeout + stopMargin);
      this.#whenAllEnded = () => resolve(true);
      if (this.#workers.every(({ running }) => running === null)) resolve(true);
    });
  }

  #signalAll(name: NodeJS.Signals): void {
    for (const { running } of this.#workers) running?.child.kill(name);
  }
}
