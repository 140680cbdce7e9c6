import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address } from '../address.ts';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { type Problem, toProblem } from '../problem.ts';
import { changeStructure, type Space } from '../projects/projects-api.ts';
import type { Field } from '../projects/structure.ts';
import {
  acceptedFiles,
  formatOf,
  type ImportJob,
  type ImportOrder,
  isOver,
  localJob,
  runImport,
} from './import-api.ts';
import { ImportChoices } from './import-choices.tsx';
import { ImportReport } from './import-report.tsx';

export interface ImportDialogProps {
  readonly project: string;
  readonly space: Space;
  readonly onClose: () => void;
  readonly onImported: () => void;
}

interface StartedImport {
  readonly file: File;
  /** The same for each attempt with the file. */
  readonly key: string;
  readonly order: ImportOrder;
  /** Of a new space. */
  readonly fields: readonly Field[];
}

const stopQuestion = {
  title: 'Stop the import?',
  body: 'None of its records will be stored.',
  confirm: 'Stop the import',
};

/** From a file to records: choose it, map its columns, and see how the service imports it. */
export function ImportDialog(props: ImportDialogProps): JSX.Element {
  const { project, space, onClose } = props;
  // a repeated attempt creates the same fields again
  const [isNew] = useState(space.fields.length === 0);
  const path = address`/${project}/${space.slug}/_import_`;
  const [file, setFile] = useState<File | null>(null);
  const { job, problem, setProblem, start, stop, withoutProblems } = useImport(props, path, isNew);
  const close = async (): Promise<void> => {
    if (job === null || isOver(job) || (await confirmed(stopQuestion))) onClose();
  };
  const choose = (next: File | null): void => {
    setProblem(null);
    setFile(next);
  };
  const key = useMemo(() => crypto.randomUUID(), [file]);
  return (
    <Dialog title={`Import records into ${space.slug}`} wide onClose={() => void close()}>
      {problem !== null && <ProblemNote problem={problem} />}
      {file === null ? (
        <FileChoice onChoose={choose} onClose={onClose} />
      ) : (
        // keep the choices for another attempt
        <div hidden={job !== null}>
          <ImportChoices
            {...{ path, file, isNew }}
            onBack={() => choose(null)}
            onStart={(order, fields) => void start({ file, key, order, fields })}
          />
        </div>
      )}
      {job !== null && (
        <ImportReport
          job={job}
          onSkip={withoutProblems && (() => void start(withoutProblems))}
          onStop={stop}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

/** The import under way, or the last one. */
function useImport({ project, space, onImported }: ImportDialogProps, path: string, isNew: boolean) {
  const [started, setStarted] = useState<StartedImport | null>(null);
  const [job, setJob] = useState<ImportJob | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const abort = useRef<AbortController | null>(null);
  const stop = (): void => abort.current?.abort();
  useEffect(() => stop, []);
  const start = async (next: StartedImport): Promise<void> => {
    const { file, key, order, fields } = next;
    const controller = new AbortController();
    abort.current = controller;
    let inserted = 0;
    setStarted(next);
    setProblem(null);
    setJob(localJob('uploading', file, 0));
    try {
      if (isNew) await changeStructure(project, space, fields);
      const call = { ...order, path, file, key: `${key} ${order.onError}` };
      await runImport(call, controller.signal, (now) => {
        inserted = now.inserted;
        setJob(now);
      });
    } catch (thrown) {
      setJob(null);
      setProblem(toProblem(thrown));
    }
    if (isNew || inserted > 0) onImported();
  };
  const withoutProblems: StartedImport | null =
    started?.order.onError === 'stop' ? { ...started, order: { ...started.order, onError: 'skip' } } : null;
  return { job, problem, setProblem, start, stop, withoutProblems };
}

interface FileChoiceProps {
  readonly onChoose: (file: File) => void;
  readonly onClose: () => void;
}

function FileChoice({ onChoose, onClose }: FileChoiceProps): JSX.Element {
  const [problem, setProblem] = useState<Problem | null>(null);
  const choose = (file: File | undefined): void => {
    if (file === undefined) return;
    try {
      formatOf(file.name);
      onChoose(file);
    } catch (thrown) {
      setProblem(toProblem(thrown));
    }
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the input below does the same for the keyboard
    <div
      class="drop stack"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        choose(event.dataTransfer?.files[0]);
      }}
    >
      {problem !== null && <ProblemNote problem={problem} />}
      <label class="stack">
        <span>
          A <strong>CSV</strong> file with column names in its first line, a <strong>JSON</strong> array of
          records, <strong>NDJSON</strong> with one record on each line, <strong>Parquet</strong> or{' '}
          <strong>Arrow</strong>. Choose a file or drop it here.
        </span>
        <input
          type="file"
          accept={acceptedFiles.join(',')}
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      </label>
      <div class="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </div>
  );
}
