import { within } from '#load/http/within.ts';
import type { Mix, MixRequest } from '#load/mix/mix.ts';
import { readMix } from '#load/mix/read-mix.ts';
import { RequestChoice } from '#load/mix/request-choice.ts';
import { sluice } from '#load/targets/sluice.ts';
import type { Performer } from '#load/targets/target.ts';
import { Attacker, type Case } from './attacker.ts';
import { type PoliteAccount, politeMix, politeTarget } from './polite-load.ts';

type NeighbourArgs = PoliteAccount & { readonly signal: AbortSignal };

/** Milliseconds for a request. */
const timeout = 30_000;
const needsStore = ({ kind }: MixRequest): boolean => kind !== 'request';

/**
 * A well-behaved account instead of a hostile one: as many requests in flight, and the same pauses, but the requests of the
 * well-behaved client that need a store. Each is sent after the last answer.
 */
export class Neighbour extends Attacker {
  readonly #performer: Performer;
  readonly #choice: RequestChoice;
  /** Of the next request. */
  #number = 0;

  private constructor(args: NeighbourArgs, mix: Mix, performer: Performer) {
    super(args);
    this.#performer = performer;
    this.#choice = new RequestChoice(mix);
  }

  /** Stores what its requests look for. */
  static async open(args: NeighbourArgs): Promise<Neighbour> {
    const { mix: whole } = await readMix(politeMix);
    const mix = { ...whole, requests: whole.requests.filter(needsStore) };
    const work = { mix, address: politeTarget(args), signal: args.signal };
    const prepared = await sluice.prepare({ ...work, progress: () => {} });
    return new Neighbour(args, mix, sluice.open({ ...work, prepared }));
  }

  override keep(...[many, pause]: Parameters<Attacker['keep']>): ReturnType<Case> {
    return super.keep(many, pause, async () => {
      const number = this.#number++;
      const request = this.#choice.requestOf(number);
      const { code } = await within(this.signal, timeout, (limit) =>
        this.#performer.perform(request, number, limit),
      );
      if (!this.signal.aborted) this.count(code ?? 'answered');
    });
  }
}
