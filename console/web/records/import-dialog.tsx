import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { type Problem, toProblem } from '../problem.ts';
import { changeStructure, type Space } from '../projects/projects-api.ts';
import { ImportChoices } from './import-choices.tsx';
import { type ImportReport, type ImportState, importRecords } from './import-records.ts';
import { ImportReportView } from './import-report.tsx';
import { type ImportRow, type RowReader, readRow } from './import-rows.ts';
import { filePieces, type ImportPreview, previewFile, sourceRows } from './import-source.ts';
import type { RecordsApi } from './records-api.ts';

export interface ImportDialogProps {
  readonly project: string;
  readonly api: RecordsApi;
  readonly space: Space;
  readonly onClose: () => void;
  readonly onImported: () => void;
}

interface ChosenFile {
  readonly file: File;
  readonly preview: ImportPreview;
}

const stop = {
  title: 'Stop the import?',
  body: 'The records that are stored already stay.',
  confirm: 'Stop the import',
};

/** From a file to records: choose it, map its columns, and see the outcome of its rows. */
export function ImportDialog(props: ImportDialogProps): JSX.Element {
  const { project, api, space, onClose, onImported } = props;
  const [chosen, setChosen] = useState<ChosenFile | null>(null);
  const [state, setState] = useState<ImportState | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const close = async (): Promise<void> => {
    if (state === null || state.over || (await confirmed(stop))) onClose();
  };

  const choose = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    setProblem(null);
    try {
      setChosen({ file, preview: await previewFile(filePieces(file)) });
    } catch (thrown) {
      setProblem(toProblem(thrown));
    }
  };
  const start = async (chosenFile: ChosenFile, reader: RowReader): Promise<void> => {
    const controller = new AbortController();
    abort.current = controller;
    try {
      setProblem(null);
      if (space.fields.length === 0) await changeStructure(project, space, reader.fields);
    } catch (thrown) {
      return setProblem(toProblem(thrown));
    }
    const report = await runImport(chosenFile, reader, api, controller.signal, setState);
    if (report.stored > 0 || space.fields.length === 0) onImported();
  };
  return (
    <Dialog title={`Import records into ${space.slug}`} wide onClose={() => void close()}>
      {problem !== null && <ProblemNote problem={problem} />}
      {state !== null && chosen !== null ? (
        <ImportReportView
          state={state}
          size={chosen.file.size}
          onStop={() => abort.current?.abort()}
          onClose={onClose}
        />
      ) : chosen !== null ? (
        <ImportChoices
          fields={space.fields}
          name={chosen.file.name}
          preview={chosen.preview}
          onBack={() => setChosen(null)}
          onStart={(reader) => void start(chosen, reader)}
        />
      ) : (
        <FileChoice onChoose={(file) => void choose(file)} onClose={onClose} />
      )}
    </Dialog>
  );
}

/** Sends the rows of a file, and shows how far it is. */
async function runImport(
  { file, preview }: ChosenFile,
  reader: RowReader,
  api: RecordsApi,
  signal: AbortSignal,
  show: (state: ImportState) => void,
): Promise<ImportReport> {
  let read = 0;
  let report: ImportReport = { stored: 0, badCount: 0, bad: [], stopped: null };
  show({ report, read, over: false });
  const rows = async function* (): AsyncGenerator<ImportRow> {
    const progress = (bytes: number): void => {
      read = bytes;
    };
    for await (const row of sourceRows(filePieces(file), preview.format, progress))
      yield readRow(row, reader);
  };
  report = await importRecords({
    rows: rows(),
    send: (body, signal) => api.insert(body, signal),
    signal,
    progress: (next) => {
      report = next;
      show({ report, read, over: false });
    },
    wait: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
    batchRecords: batchRecords(reader),
  });
  show({ report, read, over: true });
  return report;
}

/** A request may have a thousand hashed values, and each takes some milliseconds. */
function batchRecords({ fields }: RowReader): number {
  const hashed = fields.filter((field) => field.hashed).length;
  return hashed === 0 ? 1000 : Math.max(1, Math.floor(100 / hashed));
}

interface FileChoiceProps {
  readonly onChoose: (file: File | undefined) => void;
  readonly onClose: () => void;
}

function FileChoice({ onChoose, onClose }: FileChoiceProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the input below does the same for the keyboard
    <div
      class="drop stack"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        onChoose(event.dataTransfer?.files[0]);
      }}
    >
      <label class="stack">
        <span>
          A file of <strong>CSV</strong> with names of columns in its first line, or of <strong>JSON</strong>:
          an array of records, or one record on each line. Choose it, or drop it here.
        </span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,.json,.jsonl,.ndjson,text/csv,application/json"
          onChange={(event) => onChoose(event.currentTarget.files?.[0])}
        />
      </label>
      <div class="row dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </div>
  );
}
