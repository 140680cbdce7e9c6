import type { Mix, MixRequest } from '../mix/mix.ts';
import { RequestChoice } from '../mix/request-choice.ts';
import { hashOf } from '../seed/hash.ts';
import type { Outcome, Performer, Stored } from '../targets/target.ts';
import { UpdatedRecords } from '../verify/updated-records.ts';
import { Deadlines } from './deadlines.ts';
import type { Recorder } from './recorder.ts';

/** What is verified of one worker at most. */
const mostStored = 50_000;
/** Sentences. */
const mostWrong = 100;
/** Parts the choice of what is verified from the other choices. */
const verifySalt = 0x5e71;

interface RunnerOptions {
  readonly mix: Mix;
  readonly performer: Performer;
  readonly recorder: Recorder;
  readonly timeout: number;
  readonly verify: number;
}

/** Sends the requests of a worker, and records what came of them. */
export class RequestRunner {
  readonly recorder: Recorder;
  readonly #stored: Stored[] = [];
  readonly #updates: UpdatedRecords;
  /** What requests themselves found wrong in stored bytes. */
  readonly wrong: string[] = [];
  readonly #performer: Performer;
  readonly #choice: RequestChoice;
  readonly #deadlines: Deadlines;
  readonly #places: ReadonlyMap<MixRequest, number>;
  readonly #seed: number;
  readonly #verify: number;

  constructor({ mix, performer, recorder, timeout, verify }: RunnerOptions) {
    this.recorder = recorder;
    this.#performer = performer;
    this.#choice = new RequestChoice(mix);
    this.#deadlines = new Deadlines(timeout);
    this.#places = new Map(mix.requests.map((request, place) => [request, place]));
    this.#seed = mix.seed;
    this.#verify = verify * 2 ** 32;
    this.#updates = new UpdatedRecords(mix, verify);
  }

  /** What is to be verified. */
  get stored(): readonly Stored[] {
    return [...this.#stored, ...this.#updates.all];
  }

  /** Whether a mix has only streams. */
  get isIdle(): boolean {
    return this.#choice.isEmpty;
  }

  /**
   * Sends one request now.
   * @param intended when it was to start
   * @param late how much of the delay is this thread's own
   * @returns the pause that its caller makes afterwards, in milliseconds
   */
  async run(phase: number, number: number, intended: number, started: number, late: number): Promise<number> {
    const request = this.#choice.requestOf(number);
    const place = this.#places.get(request) as number;
    this.recorder.started(phase, place, started, late);
    const controller = this.#deadlines.begin(started);
    const outcome = await this.#performer.perform(request, number, controller.signal);
    this.#deadlines.end(controller);
    this.recorder.ended(phase, place, outcome, performance.now(), intended, started);
    if (outcome.stored !== undefined && this.#verify > 0) this.#keep(outcome.stored);
    if (outcome.wrong !== undefined && this.wrong.length < mostWrong) this.wrong.push(outcome.wrong);
    return request.think;
  }

  /** A request that was to start, and could not before its phase ended. */
  skip(phase: number, number: number, intended: number): void {
    const place = this.#places.get(this.#choice.requestOf(number)) as number;
    const now = performance.now();
    this.recorder.ended(phase, place, notStarted, now, intended, now);
  }

  abort(reason: Error): void {
    this.#deadlines.abort(reason);
  }

  close(): void {
    this.#deadlines.close();
    this.#performer.close();
  }

  #keep(stored: Stored): void {
    if (stored.kind === 'update') this.#updates.note(stored);
    else if (this.#stored.length < mostStored && hashOf(this.#seed, stored.index, verifySalt) < this.#verify)
      this.#stored.push(stored);
  }
}

const notStarted: Outcome = { good: false, status: 0, code: 'not_started', sentBytes: 0, receivedBytes: 0 };
