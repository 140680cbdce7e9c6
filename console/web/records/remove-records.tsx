import { confirmed, type ShowProgress } from '../parts/confirmed.ts';
import { countOf } from '../parts/format.ts';
import type { Space } from '../projects/projects-api.ts';
import { pagesOfView } from './pages-of-view.ts';
import type { RecordSelection } from './record-selection.ts';
import { isBare, type PageRequest, type RecordView, sortedBy } from './record-view.ts';
import type { RecordsApi } from './records-api.ts';

/** Records that one request deletes. */
const atOnce = 5000;

/**
 * Asks, then deletes records: all of a space, or some by their ids.
 * @returns the ids of deleted records: not all, if it was stopped
 */
export async function removeRecords(
  { api, space, view }: { readonly api: RecordsApi; readonly space: Space; readonly view: RecordView },
  selected: RecordSelection,
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>();
  const clears = selected === 'all' && isBare(view);
  const count = clears ? space.records : selected === 'all' ? null : selected.size;
  const what =
    count === null ? 'all records that match' : count === 1 ? 'the record' : countOf(count, 'record');
  const remove = async (
    ids: readonly string[],
    signal: AbortSignal,
    progress: ShowProgress,
  ): Promise<void> => {
    for (let from = 0; from < ids.length; from += atOnce) {
      const some = ids.slice(from, from + atOnce);
      await api.remove(some, signal);
      for (const id of some) gone.add(id);
      progress(gone.size, count);
    }
  };
  await confirmed({
    title: `Delete ${what}?`,
    body: 'This can’t be undone.',
    confirm: `Delete ${what}`,
    ...(clears ? { typed: space.slug } : {}),
    async run(signal, progress) {
      if (clears) return api.clear(signal);
      progress(gone.size, count);
      if (selected !== 'all') {
        const left = [...selected].filter((id) => !gone.has(id));
        return remove(left, signal, progress);
      }
      const load = (request: PageRequest) => api.page(view, space.fields, request, signal);
      for await (const page of pagesOfView(load, sortedBy(view), signal)) {
        const ids = page.map(({ id }) => String(id));
        await remove(ids, signal, progress);
      }
    },
    done: count === 1 ? 'Record deleted.' : 'Records deleted.',
  });
  return gone;
}
