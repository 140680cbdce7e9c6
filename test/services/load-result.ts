import type { Conditions } from '#records/input/parse-conditions.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';

/** Reads a result as `CachedRead` does: once for all concurrent requests. */
export async function loadResult(
  cache: KeptResults,
  view: RecordSpace,
  request: string,
  conditions: Conditions | null,
  read: () => Promise<Uint8Array | null>,
): Promise<Uint8Array | null> {
  const underway = cache.underway(view, request);
  if (underway === null) return cache.share(view, request, conditions, read());
  return (await underway.catch(() => null)) ?? read();
}
