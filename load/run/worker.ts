/** One thread of a run: it sends its share of the requests, and tells the main thread each second what came of them. */
import { parentPort, workerData } from 'node:worker_threads';
import { LiveNotes } from '../live/live-notes.ts';
import { openKind } from '../targets/kinds.ts';
import { ClosedLoop } from './closed-loop.ts';
import type { Loop, LoopOptions } from './loop.ts';
import type { FromWorker, PhaseStart, ToWorker, WorkerSetup } from './messages.ts';
import { OpenLoop } from './open-loop.ts';
import { Recorder } from './recorder.ts';
import { RequestRunner } from './request-runner.ts';
import { WorkerStreams } from './worker-streams.ts';

const setup = workerData as WorkerSetup;
const { worker, workers, mix, address, prepared, timeout, inFlight, verify } = setup;
const whole = new AbortController();
const post = (message: FromWorker, transfer: ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, transfer);
const fail = (error: unknown): void =>
  post({ kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) });

const kind = await openKind(address);
const notes = mix.requests.some(({ kind }) => kind === 'live') ? new LiveNotes() : undefined;
const performer = kind.open({ mix, address, prepared, signal: whole.signal, notes });
const streams = new WorkerStreams(performer, mix, whole.signal);

let runner: RequestRunner | undefined;
let loop: Loop | undefined;
let seconds: NodeJS.Timeout | undefined;
/** The phase was stopped, perhaps before it began. */
let isStopped = false;

/** A time of all threads, on the clock of this one. */
const clockOf = (time: number): number => time - performance.timeOrigin;

function begin(at: number): void {
  const recorder = new Recorder(clockOf(at), post);
  runner = new RequestRunner({ mix, performer, recorder, timeout, verify });
  seconds = setInterval(() => {
    recorder.turn();
    postNotes();
  }, 1000);
}

function postNotes(): void {
  const batch = notes?.take() ?? null;
  if (batch !== null) post({ kind: 'notes', ...batch }, [batch.writes.buffer, batch.events.buffer]);
}

function startPhase({ phase, index, at, first }: PhaseStart): void {
  const began = clockOf(at);
  const options: LoopOptions = {
    ...{ phase, index, began, first, worker, workers, inFlight },
    runner: runner as RequestRunner,
    onStarted: (next) => post({ kind: 'started', index, next }),
    onDrained: () => {
      runner?.recorder.flush();
      post({ kind: 'drained', index });
    },
    onFailure: fail,
  };
  const start = (): void => {
    if (notes !== undefined) notes.areWritesNoted = phase.counts;
    loop = phase.rate !== null ? new OpenLoop(options) : new ClosedLoop(options);
    if (isStopped) loop.stop();
  };
  isStopped = false;
  loop = undefined;
  setTimeout(start, Math.max(0, began - performance.now()));
}

function stop(): void {
  isStopped = true;
  loop?.stop();
}

async function end(): Promise<void> {
  clearInterval(seconds);
  const { counts: live, wrong } = await streams.end();
  whole.abort(new Error('the run ended'));
  runner?.recorder.flush();
  postNotes();
  runner?.close();
  post({ kind: 'ended', stored: runner?.stored ?? [], wrong: [...(runner?.wrong ?? []), ...wrong], live });
  parentPort?.close();
}

parentPort?.on('message', (message: ToWorker) => {
  try {
    if (message.kind === 'begin') begin(message.at);
    else if (message.kind === 'streams')
      streams.replace(message.numbers).then(() => post({ kind: 'streaming' }), fail);
    else if (message.kind === 'phase') startPhase(message);
    else if (message.kind === 'stop') stop();
    else if (message.kind === 'abort') runner?.abort(new Error('the run was ended'));
    else end().catch(fail);
  } catch (error) {
    fail(error);
  }
});
post({ kind: 'ready' });
