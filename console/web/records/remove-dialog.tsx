import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { formatNumber } from '../parts/format.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { toast } from '../parts/toast.tsx';
import { isAbort, type Problem, toProblem } from '../problem.ts';
import { inParallel } from './in-parallel.ts';
import type { RecordsApi } from './records-api.ts';

export interface RemoveDialogProps {
  readonly api: RecordsApi;
  readonly ids: readonly string[];
  readonly onClose: () => void;
  /** With the ids of those that are gone. */
  readonly onRemoved: (ids: readonly string[]) => void;
}

const atOnce = 4;

/** Asks, then deletes records one by one: the API has no call that deletes some of a space. It can be stopped. */
export function RemoveDialog({ api, ids, onClose, onRemoved }: RemoveDialogProps): JSX.Element {
  const [done, setDone] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const abort = useRef(new AbortController());
  const gone = useRef<string[]>([]);
  useEffect(() => () => abort.current.abort(), []);
  const what = ids.length === 1 ? 'the record' : `${formatNumber(ids.length)} records`;

  const run = async (): Promise<void> => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setProblem(null);
    setDone(gone.current.length);
    try {
      const left = ids.filter((id) => !gone.current.includes(id));
      await inParallel(left, atOnce, signal, async (id) => {
        await api.remove(id, signal);
        gone.current.push(id);
        setDone(gone.current.length);
      });
      toast(ids.length === 1 ? 'The record is deleted.' : `${formatNumber(ids.length)} records are deleted.`);
      onRemoved(gone.current);
    } catch (thrown) {
      if (!isAbort(thrown)) setProblem(toProblem(thrown));
    }
  };
  const close = (): void => {
    abort.current.abort();
    if (gone.current.length > 0) onRemoved(gone.current);
    else onClose();
  };
  return (
    <Dialog title={`Delete ${what}?`} onClose={close}>
      <div class="stack">
        {problem !== null && <ProblemNote problem={problem} />}
        <p>Nobody can undo this.</p>
        {done !== null && (
          <>
            <ProgressBar label={`Deleting ${what}`} done={done} total={ids.length} />
            <p class="quiet">
              {formatNumber(done)} of {formatNumber(ids.length)} deleted
            </p>
          </>
        )}
        <div class="dialog-actions">
          <Button onClick={close}>{done === null ? 'Cancel' : 'Stop'}</Button>
          <Button kind="danger" busy={done !== null && problem === null} onClick={() => void run()}>
            {problem === null ? `Delete ${what}` : 'Try again'}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
