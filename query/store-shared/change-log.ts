import { chunksOf } from '../../common/limits/chunks-of.ts';
import type { Written } from '../store/statement-writes.ts';

/** The channel of the keys of spaces that changed. Whoever misses a message reads a little later. */
export const changesChannel = 'sluice:changes:1';

/** Entries that a space keeps, the most that one command adds, and ids of one. */
const limits = { kept: 5000, added: 1000, ids: 100 };
/** Milliseconds without changes and without listeners. */
const lifetime = 120_000;
/** An entry: any record may be another one. */
export const anything = '*';

/**
 * Lua: adds entries to the changes of a space, when somebody hears them. The key `heard` has the number of the last one, so
 * that nobody misses one without missing a number.
 */
export const tellLua = `
local function add(heard, changes, entries)
  redis.call('RPUSH', changes, unpack(entries))
  redis.call('LTRIM', changes, -${limits.kept}, -1)
  redis.call('PEXPIRE', changes, ${lifetime})
  redis.call('PUBLISH', '${changesChannel}', heard)
  redis.call('INCRBY', heard, #entries)
end
local function tell(heard, changes, entries)
  if #entries > 0 and redis.call('EXISTS', heard) == 1 then add(heard, changes, entries) end
end
local function forgetDead(writers, now, heard, changes)
  if redis.call('ZREMRANGEBYSCORE', writers, '-inf', now) > 0 then tell(heard, changes, {'${anything}'}) end
end
`;

/** What a write did, as entries. @param written absent: it is not known */
export function entriesOf(written: Written | undefined): readonly string[] {
  if (written === undefined) return [anything];
  const { ids, areNew } = written;
  return Array.from(chunksOf(ids, limits.ids), (some) => JSON.stringify([areNew ? 1 : 0, ...some]));
}

/** Entries of several writes for one command. */
export function atMost(entries: readonly string[]): readonly string[] {
  return entries.length > limits.added ? [anything] : entries;
}

/** The ids of entries, and which of them all entries say to be new. Null: any record may be another one. */
export function idsOf(entries: readonly string[]): ReadonlyMap<string, boolean> | null {
  if (entries.includes(anything)) return null;
  const ids = new Map<string, boolean>();
  for (const entry of entries) {
    const [areNew, ...some] = JSON.parse(entry) as [number, ...string[]];
    for (const id of some) ids.set(id, areNew === 1 && ids.get(id) !== false);
  }
  return ids;
}
