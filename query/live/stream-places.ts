import { tooManyStreams } from '#kernel/errors/catalogue.ts';
import type { LiveStream } from './live-stream.ts';

/** The holder of a stream: an account, its access token, and the sender that uses it. */
export type Holder = readonly [account: string, token: string, sender: string];

interface Place {
  readonly stream: Pick<LiveStream, 'end'>;
  readonly leave: () => void;
}

/** The streams of the process, of an account, of one of its tokens, or of one sender. */
interface Group {
  count: number;
  readonly parts: Map<string, Group>;
  /** Only in the group of a sender; the oldest first. */
  readonly places: Set<Place>;
}

/**
 * Limits the open streams of the process and of each access token. Streams last for hours, so newcomers can't wait for a
 * place. At the limit, the party with the most streams gives up its oldest one to a newcomer with at least two fewer. So
 * places only move towards equal shares, and never back. The process shares its places between accounts, an account
 * between its tokens, and a token between its senders.
 */
export class StreamPlaces {
  readonly #limits: { readonly process: number; readonly token: number };
  readonly #all: Group = groupOf();

  constructor(limits: { readonly process: number; readonly token: number }) {
    this.#limits = limits;
  }

  /** Streams that have a place. */
  get count(): number {
    return this.#all.count;
  }

  /** Gives a stream a place, and returns a function that gives it back; further calls do nothing. Throws 429. */
  take(holder: Holder, stream: Place['stream']): () => void {
    const [account, token, sender] = holder;
    const ofToken = this.#all.parts.get(account)?.parts.get(token);
    makeRoom(ofToken ?? groupOf(), [sender], 'an access token', this.#limits.token);
    makeRoom(this.#all, holder, 'this process', this.#limits.process);
    const place: Place = { stream, leave: () => this.#leave(holder, place) };
    let group = this.#all;
    group.count++;
    for (const name of holder) {
      const part = group.parts.get(name) ?? groupOf();
      group.parts.set(name, part);
      part.count++;
      group = part;
    }
    group.places.add(place);
    return place.leave;
  }

  #leave(holder: Holder, place: Place): void {
    const groups = [this.#all];
    for (const name of holder) {
      const part = groups.at(-1)?.parts.get(name);
      if (part === undefined) return;
      groups.push(part);
    }
    if (groups.at(-1)?.places.delete(place) !== true) return;
    for (const [at, group] of groups.entries()) {
      group.count--;
      if (group.count === 0 && at > 0) groups[at - 1]?.parts.delete(holder[at - 1] as string);
    }
  }
}

function groupOf(): Group {
  return { count: 0, parts: new Map(), places: new Set() };
}

/** Ends a stream of a full group. Throws 429 if the shares are equal. */
function makeRoom(group: Group, path: readonly string[], whose: string, limit: number): void {
  if (group.count < limit) return;
  const place = placeToGive(group, path);
  if (place === null) throw tooManyStreams(whose, limit);
  // free the place now: the client may take a second to close its stream
  place.leave();
  place.stream.end('too_many_streams');
}

/** The place to take for a newcomer; null: none. @param path the newcomer's position within the group */
function placeToGive(group: Group, path: readonly string[]): Place | null {
  let within: Group | undefined = group;
  for (const name of path) {
    const own: Group | undefined = within?.parts.get(name);
    const largest = within && largestOf(within);
    if (largest && largest.count >= (own?.count ?? 0) + 2) return oldestOf(largest);
    within = own;
  }
  return null;
}

function oldestOf(group: Group): Place | null {
  let within = group;
  for (let part = largestOf(within); part !== null; part = largestOf(within)) within = part;
  const [oldest = null] = within.places;
  return oldest;
}

function largestOf({ parts }: Group): Group | null {
  let largest: Group | null = null;
  for (const part of parts.values()) if (largest === null || part.count > largest.count) largest = part;
  return largest;
}
