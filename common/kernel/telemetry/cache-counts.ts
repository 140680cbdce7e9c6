export class CacheCounts {
  hits = 0;
  misses = 0;

  /** Counts one lookup, and returns its result. */
  count<Found>(found: Found): Found {
    if (found === undefined || found === null) this.misses++;
    else this.hits++;
    return found;
  }
}
