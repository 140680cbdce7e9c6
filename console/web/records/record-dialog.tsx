import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { useEdits } from '../parts/confirmed.ts';
import { CodeBlock } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { formatBytes } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import type { StoredRecord } from './record-form.ts';
import { type RecordDialogProps, RecordFormView } from './record-form-view.tsx';

/** One record: as a form, and as JSON. The table only has the texts of its cells, so the record is loaded. */
export function RecordDialog(props: RecordDialogProps): JSX.Element {
  const { api, id, onClose, onDelete } = props;
  const { edit, close } = useEdits(onClose);
  const loaded = useLoad(async (signal) => (id === null ? null : api.one(id, signal)), [id]);
  const [tab, setTab] = useState<'form' | 'json'>('form');
  const record = loaded.data;
  const missing = id !== null && !loaded.loading && loaded.problem === null && record === null;
  return (
    <Dialog title={id === null ? 'Add a record' : 'Record'} wide onClose={close}>
      {record !== null && (
        <div class="row apart">
          <div class="row">
            <Button small pressed={tab === 'form'} onClick={() => setTab('form')}>
              Form
            </Button>
            <Button small pressed={tab === 'json'} onClick={() => setTab('json')}>
              JSON
            </Button>
          </div>
          {onDelete !== null && (
            <Button icon="trash" small onClick={() => onDelete(String(record.id))}>
              Delete
            </Button>
          )}
        </div>
      )}
      {loaded.problem !== null && <ProblemNote problem={loaded.problem} onRetry={loaded.reload} />}
      {missing && <p role="status">This record no longer exists.</p>}
      {id !== null && loaded.loading && record === null && <Skeleton lines={6} />}
      {record !== null && tab === 'json' && <JsonView record={record} />}
      {(id === null || record !== null) && (
        // keep edits while the JSON is shown
        <div hidden={tab !== 'form'}>
          <RecordFormView
            {...props}
            key={String(record?.updatedAt)}
            record={record}
            onEdit={edit}
            onClose={close}
            onSaved={onClose}
          />
        </div>
      )}
    </Dialog>
  );
}

/** More than this at once makes a page slow to scroll. */
const shownAtFirst = 50_000;

/** The record as the API returns it. */
function JsonView({ record }: { readonly record: StoredRecord }): JSX.Element {
  const text = useMemo(() => JSON.stringify(record, null, 2), [record]);
  const [whole, setWhole] = useState(text.length <= shownAtFirst);
  const box = useRef<HTMLDivElement>(null);
  const showAll = (): void => {
    setWhole(true);
    // the focused button was removed
    box.current?.querySelector('pre')?.focus();
  };
  return (
    <div class="stack json" ref={box}>
      <CodeBlock
        code={text}
        shown={whole ? text : `${text.slice(0, shownAtFirst)}…`}
        label="Copy the record"
      />
      {!whole && <Button onClick={showAll}>Show all {formatBytes(text.length)}</Button>}
    </div>
  );
}
