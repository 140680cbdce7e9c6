import type { Config } from '../../config/read-config.ts';
import { claimPort, type PortClaim } from '../../http/claim-port.ts';
import type { Log } from '../../log/log.ts';
import { closeTimeout } from '../close-timeout.ts';
import { type Commands, serveControlSocket } from '../control-socket.ts';
import { failStart } from '../fail-start.ts';
import { reachText } from '../listened-addresses.ts';
import { gatherMetrics } from './gather-metrics.ts';
import { createLeftovers } from './leftovers.ts';
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
  let claim: PortClaim | null = await claimPort(config);
  const { port } = claim;
  let stopping = false;
  let announced = false;
  let whenAllListen: () => void = () => {};
  let whenAllEnded: () => void = () => {};
  const slots: WorkerSlot[] = [];
  const serving = (): WorkerSlot[] => slots.filter(({ peer }) => peer !== null);
  const leftovers = createLeftovers({ log, sweepers: () => serving().map(({ peer }) => peer as Peer) });
  const metrics = gatherMetrics(slots);

  const start = async (slot: WorkerSlot): Promise<void> => {
    try {
      // a stranger could have listened there while none of ours did
      if (claim === null && serving().length === 0) claim = await claimPort({ ...config, port });
    } catch (error) {
      log.error({ worker: slot.index, err: error }, 'the port is lost');
    }
    if (!stopping) slot.start();
  };

  const giveUp = (slot: WorkerSlot, end: WorkerEnd): void => {
    stopping = true;
    for (const other of slots) other.signal('SIGTERM');
    const error = new Error(
      `worker ${slot.index} ended ${slot.failedStarts} times in a row before it served (${describe(end)}): giving up`,
    );
    void untilEnded(slots, config, (act) => {
      whenAllEnded = act;
    }).then(() => failStart(error));
  };

  const onListening = (slot: WorkerSlot, { url, commands }: Listening): void => {
    claim?.release();
    claim = null;
    slot.peer?.tell('port-released', null);
    log.info({ worker: slot.index, workerPid: slot.pid }, 'a worker listens');
    leftovers.sweep();
    if (announced) return;
    // the first one brings the tables up to date, and makes the first token, before the others start
    if (slot.index === 1) {
      Object.assign(first, { url, commands });
      for (const other of slots.slice(1)) if (!other.running) other.start();
    }
    if (serving().length === slots.length) whenAllListen();
  };
  const first: { url: string; commands: readonly string[] } = { url: '', commands: [] };

  const onEnded = (slot: WorkerSlot, end: WorkerEnd): void => {
    leftovers.add(end.uploads);
    leftovers.sweep();
    if (stopping) {
      if (slots.every(({ running }) => !running)) whenAllEnded();
      if (end.listened && end.status !== 0) {
        log.error({ worker: slot.index, end: describe(end) }, 'a worker did not end in order');
        process.exitCode = 1;
      }
      return;
    }
    // beside others that serve, one that can't start may wait for better times
    if (slot.failedStarts >= startAttempts && (!announced || serving().length === 0)) {
      giveUp(slot, end);
      return;
    }
    const delay = slot.restart(() => void start(slot));
    log.error(
      { worker: slot.index, end: describe(end), uploads: end.uploads.length, delay },
      'a worker ended: it is started again',
    );
  };

  const onConnected = (slot: WorkerSlot, peer: Peer): void => {
    peer.on('token-changed', (hash: string) => {
      for (const other of slots) if (other !== slot) other.peer?.tell('token-changed', hash);
    });
    peer.answer('metrics', () => metrics(slot));
    peer.answer('open-uploads', async () => slots.flatMap(({ openUploads }) => openUploads));
  };

  const events = { listening: onListening, ended: onEnded, connected: onConnected };
  for (let index = 1; index <= config.workers; index++) slots.push(new WorkerSlot(index, port, events));

  const onSignal = (signal: NodeJS.Signals): void => {
    for (const slot of slots) slot.signal(stopping ? signal : 'SIGTERM');
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    const ended = untilEnded(slots, config, (act) => {
      whenAllEnded = act;
    });
    void ended.then(async (inTime) => {
      await socket?.close();
      if (!inTime) log.error('the stop took too long');
      process.exit(inTime ? (process.exitCode ?? 0) : 1);
    });
  };
  let socket: { close(): Promise<void> } | null = null;
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);

  const allListen = new Promise<void>((resolve) => {
    whenAllListen = resolve;
  });
  slots[0]?.start();
  await allListen;
  announced = true;
  socket = await serveControlSocket({
    dataDir: config.dataDir,
    commands: forwarded(first.commands, serving),
    log,
  });
  process.stdout.write(`Sluice listens on ${first.url}\n${reachText(config, port)}`);
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

/** Whether all workers ended by themselves; those that did not in time are killed. */
function untilEnded(
  slots: readonly WorkerSlot[],
  { drainDelay, drainTimeout }: Config,
  onEnded: (act: () => void) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    if (slots.every(({ running }) => !running)) return resolve(true);
    const kill = (): void => {
      for (const slot of slots) slot.signal('SIGKILL');
      resolve(false);
    };
    const timer = setTimeout(kill, drainDelay + drainTimeout + closeTimeout + stopMargin);
    onEnded(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

function describe({ status, signal }: WorkerEnd): string {
  return signal === null ? `exit status ${status}` : `signal ${signal}`;
}
