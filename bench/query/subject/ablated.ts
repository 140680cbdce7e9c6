/** The query service without some of its parts, for bench/query/ablation.ts: WITHOUT=finds,lookups. */
import { StatementQueues } from '#engine/statement-queues.ts';
import { StructureCache } from '#query/input/structure-cache.ts';
import { scopes } from '#query/operations.ts';
import { KnownSpaces } from '#query/space/known-spaces.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import { SharedReads } from '#records/store/shared-reads.ts';
import { KeyFilter } from '#records/store-embedded/key-filter.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import { SpacePreloads } from '#records/store-embedded/space-preloads.ts';
import { VersionedCache } from '#records/store-shared/versioned-cache.ts';

const nothingKept = {
  largest: 0,
  get: () => undefined,
  keep: () => {},
  underway: () => null,
  share: (_view: unknown, _request: string, _conditions: unknown, reading: Promise<unknown>) => reading,
};
/** A separate queue for each item, so that nothing is batched. */
const apart = (is: (item: { readonly shape: string; readonly queue: string }) => boolean) => {
  const { add } = StatementQueues.prototype;
  let queues = 0;
  StatementQueues.prototype.add = function (item) {
    return add.call(this, is(item) ? { ...item, queue: `${item.queue} ${queues++}` } : item);
  };
};
/** Finds without shared statements. */
const alone = (is: (plan: ReadPlan) => boolean) => {
  const { find } = SharedReads.prototype;
  SharedReads.prototype.find = async function (waiting) {
    return is(waiting.plan) ? null : find.call(this, waiting);
  };
};
const parts: Readonly<Record<string, () => void>> = {
  results() {
    const at = () => nothingKept as never;
    ResultCache.prototype.at = at;
    ResultCache.prototype.begin = () => () => {};
    VersionedCache.prototype.at = at;
  },
  // any write invalidates all results of its space
  conditions() {
    const { begin } = ResultCache.prototype;
    ResultCache.prototype.begin = function (spaceId) {
      return begin.call(this, spaceId, null);
    };
  },
  filter() {
    KeyFilter.prototype.mayHave = () => true;
    KeyFilter.prototype.add = () => {};
    KeyFilter.prototype.fillLater = () => {};
  },
  structures() {
    const { read } = StructureCache.prototype;
    StructureCache.prototype.read = (header, path) =>
      read.call(new StructureCache({ scopes, bytes: 1e7 }), header, path);
  },
  spaces() {
    KnownSpaces.prototype.view = () => null;
    KnownSpaces.prototype.stored = () => null;
  },
  preloads() {
    SpacePreloads.prototype.missed = () => {};
  },
  finds: () => alone(() => true),
  ranges: () => alone(({ conditions }) => conditions.others.length > 0),
  pages: () => alone(({ page }) => page !== null),
  lookups: () => apart(({ shape }) => shape === 'ids' || shape === 'keys'),
  // finds by the index, and the others
  values: () => apart(({ queue }) => queue.startsWith('values ')),
};
for (const part of (process.env.WITHOUT ?? '').split(',')) parts[part]?.();
await import('#query/main.ts');
