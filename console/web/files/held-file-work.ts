import { confirmed, type Question } from '../parts/confirmed.ts';
import { countOf } from '../parts/format.ts';
import type { Pages } from '../parts/load.ts';
import { toast, toastProblem } from '../parts/toast.tsx';
import {
  deleteFiles,
  deleteNamed,
  type HiddenKind,
  restoreFiles,
  restoreNamed,
  type StoredFile,
} from './file-api.ts';
import { currentFilter } from './file-filter.tsx';
import type { FileSelection } from './selection.tsx';

/** Files that are kept, but not shown. */
export interface HeldFiles {
  readonly project: string;
  readonly kind: HiddenKind;
}

/** @returns the names of the files that left the list: not all, if it was stopped */
export type Work = (
  held: HeldFiles & { readonly files: Pages<StoredFile>; readonly targets: FileSelection },
) => Promise<ReadonlySet<string>>;

/** Deletes files after a confirmation. */
export const removeForGood: Work = async ({ project, kind, files: { items, total = 0 }, targets }) => {
  const gone = new Set<string>();
  const count = targets === 'all' ? total : targets.size;
  const first = items?.find(({ name }) => targets !== 'all' && targets.has(name));
  const filter = currentFilter();
  await confirmed({
    title: `Delete ${count === 1 && first ? first.originalName : countOf(count, 'file')} for good?`,
    body: 'This can’t be undone.',
    confirm: `Delete ${countOf(count, 'file')}`,
    async run(signal, progress) {
      const work = {
        ...{ signal, progress, forGood: true },
        onDeleted: (name: string) => void gone.add(name),
      };
      if (targets === 'all') return deleteFiles(project, filter, { ...work, hidden: kind });
      const left = [...targets].filter((name) => !gone.has(name));
      await deleteNamed(project, left, work);
    },
  });
  if (gone.size > 0) toast(`${countOf(gone.size, 'file')} deleted for good.`);
  return gone;
};

/** Restores files from the trash, several after a confirmation. */
export const restore: Work = async ({ project, files: { total = 0 }, targets }) => {
  const back = new Set<string>();
  const onDone = (name: string): void => void back.add(name);
  const filter = currentFilter();
  const run: Question['run'] = async (signal, progress) => {
    const work = { signal, progress, onDone };
    if (targets === 'all') return restoreFiles(project, filter, work);
    const left = [...targets].filter((name) => !back.has(name));
    await restoreNamed(project, left, work);
  };
  const count = targets === 'all' ? total : targets.size;
  const verb = `Restore ${countOf(count, 'file')}`;
  if (count === 1) await run(AbortSignal.timeout(60_000), () => {}).catch(toastProblem);
  else
    await confirmed({
      title: `${verb}?`,
      body: 'Their links work again.',
      confirm: verb,
      kind: 'primary',
      run,
    });
  if (back.size > 0) toast(`${countOf(back.size, 'file')} restored.`);
  return back;
};
