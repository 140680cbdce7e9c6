import { chunksOf } from '#kernel/limits/chunks-of.ts';
import type { WriteSummary } from '../store/statement-writes.ts';

/** The pub/sub channel with the names of changed spaces. A process that misses a message reads a little later. */
export const changesChannel = 'sluice:changes:1';

/** Entries that a space keeps, entries that one command adds, and ids of one entry, at most. */
const limits = { kept: 5000, added: 1000, ids: 100 };
/** An entry for unknown changes: any record may have changed. */
const anything = '*';

/**
 * Lua: appends to the change log of a space, which exists while somebody listens. The list begins with the number of
 * entries that were dropped before, so that a reader notices a gap.
 */
export const tellLua = `
local function tell(changes, entries)
  if #entries == 0 then return end
  local length = redis.call('RPUSHX', changes, unpack(entries))
  if length == 0 then return end
  local over = length - 1 - ${limits.kept}
  if over > 0 then
    local before = redis.call('LINDEX', changes, 0) + over
    redis.call('LTRIM', changes, over, -1)
    redis.call('LSET', changes, 0, string.format('%.0f', before))
  end
  redis.call('PUBLISH', '${changesChannel}', changes)
end
local function forgetDead(writers, now, changes)
  if redis.call('ZREMRANGEBYSCORE', writers, '-inf', now) > 0 then tell(changes, {'${anything}'}) end
end
`;

/** What a write did, as entries. @param written absent: unknown */
export function entriesOf(written: WriteSummary | undefined): readonly string[] {
  if (written === undefined) return [anything];
  const { ids, areNew } = written;
  return Array.from(chunksOf(ids, limits.ids), (some) => JSON.stringify([areNew ? 1 : 0, ...some]));
}

/** Entries of several writes for one command. */
export function atMost(entries: readonly string[]): readonly string[] {
  return entries.length > limits.added ? [anything] : entries;
}

/** The ids of entries, and which of them are new according to all entries. Null: any record may have changed. */
export function idsOf(entries: readonly string[]): ReadonlyMap<string, boolean> | null {
  if (entries.includes(anything)) return null;
  const ids = new Map<string, boolean>();
  for (const entry of entries) {
    const [areNew, ...some] = JSON.parse(entry) as [number, ...string[]];
    for (const id of some) ids.set(id, areNew === 1 && ids.get(id) !== false);
  }
  return ids;
}
