import type { LiveRequest } from '../mix/mix.ts';
import { hashOf } from '../seed/hash.ts';
import type { OpenStreams, StreamsToOpen } from '../targets/target.ts';
import { inLanes } from '../verify/in-lanes.ts';
import { type LiveFind, LiveStream } from './live-stream.ts';

/** Parts the choice of a stream's request from the other choices. */
const salt = 0x2c93;
/** Streams of a thread that begin at the same time. */
const openedAtOnce = 32;
/** Streams of a thread that are compared at the end, at most. */
const mostCompared = 100;
const comparedAtOnce = 8;
const mostSentences = 20;

/**
 * Opens streams. Resolves when each has its records, or was refused once: then it is tried again, and counted.
 * @param findOf the find of a stream: the same number gives the same one
 */
export async function openStreams(
  { requests, numbers, signal }: StreamsToOpen,
  seed: number,
  findOf: (request: LiveRequest, number: number) => LiveFind,
): Promise<OpenStreams> {
  const streams = new Streams();
  try {
    await inLanes(numbers, openedAtOnce, async (number) => {
      signal.throwIfAborted();
      const request = requestOf(requests, hashOf(seed, number, salt));
      await streams.open(`stream ${number} (${request.name})`, findOf(request, number));
    });
    return streams;
  } catch (error) {
    streams.close();
    throw error;
  }
}

/** Chosen by the weights. */
function requestOf(requests: readonly LiveRequest[], hash: number): LiveRequest {
  let left = (hash / 2 ** 32) * requests.reduce((sum, { weight }) => sum + weight, 0);
  const chosen = requests.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  if (chosen === undefined) throw new Error('a phase has streams, and the mix has no live request');
  return chosen;
}

class Streams implements OpenStreams {
  readonly #open: { readonly name: string; readonly stream: LiveStream }[] = [];
  #lost = 0;

  get counts() {
    let events = 0;
    const ends: Record<string, number> = {};
    for (const { stream } of this.#open) {
      events += stream.records.events;
      if (stream.ends > 0) ends[stream.lastEnd] = (ends[stream.lastEnd] ?? 0) + stream.ends;
    }
    return { events, lost: this.#lost, ends };
  }

  async open(name: string, find: LiveFind): Promise<void> {
    const stream = new LiveStream(find);
    this.#open.push({ name, stream });
    await stream.settled;
  }

  async compare(): Promise<readonly string[]> {
    const wrong: string[] = [];
    await inLanes(this.#open.slice(0, mostCompared), comparedAtOnce, async ({ name, stream }) => {
      const lost = await stream.lost().catch(() => null);
      if (lost === null || lost.length === 0) return;
      this.#lost += lost.length;
      const changes = lost.length === 1 ? 'a change' : `${lost.length} changes`;
      if (wrong.length < mostSentences)
        wrong.push(`${name} did not tell of ${changes}, of the record with the id ${lost[0]}`);
    });
    return wrong;
  }

  close(): void {
    for (const { stream } of this.#open) stream.close();
  }
}
