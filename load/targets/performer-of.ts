import type { MixRequest } from '../mix/mix.ts';
import type { Outcome, Performer } from './target.ts';

export type Perform = (number: number, signal: AbortSignal) => Promise<Outcome>;

/** A performer whose requests are prepared when they first come. */
export function performerOf(prepare: (request: MixRequest) => Perform, close: () => void): Performer {
  const performs = new Map<string, Perform>();
  return {
    perform(request, number, signal) {
      let perform = performs.get(request.name);
      if (perform === undefined) {
        perform = prepare(request);
        performs.set(request.name, perform);
      }
      return perform(number, signal);
    },
    close,
  };
}
