import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { countOf, formatBytes, formatNumber } from '../parts/format.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { Problem } from '../problem.ts';
import { csvLine, guardFormula } from './csv-writer.ts';
import { type ImportJob, type ImportProblem, isOver } from './import-api.ts';
import { saveFile } from './save-file.ts';

export interface ImportReportProps {
  readonly job: ImportJob;
  /** Imports the file once more, without the records that have problems. Null: they were left out already. */
  readonly onSkip: (() => void) | null;
  readonly onStop: () => void;
  readonly onClose: () => void;
}

/** The progress of the import, and then its outcome. */
export function ImportReport({ job, onSkip, onStop, onClose }: ImportReportProps): JSX.Element {
  const { state, bytes, bytesRead, records, skipped, problems, error } = job;
  const hasProblems = isOver(job) && problems.length > 0;
  return (
    <div class="stack">
      <ProgressBar
        label={state === 'uploading' ? 'Upload' : 'Import'}
        done={state === 'done' ? bytes : bytesRead}
        total={bytes}
      />
      <p role="status">{statusOf(job)}</p>
      {error !== null && <ProblemNote problem={new Problem(error)} />}
      {hasProblems && <Problems job={job} />}
      <div class="row dialog-actions">
        {hasProblems && (
          <Button icon="download" onClick={() => saveFile(problemsFile(problems), 'problems.csv')}>
            Save the list of problems
          </Button>
        )}
        {state === 'failed' && hasProblems && onSkip !== null && records > skipped && (
          // with too many problems the rest of the file is not read
          <Button onClick={onSkip}>
            Import the other{bytesRead < bytes ? 's' : ` ${formatNumber(records - skipped)}`}
          </Button>
        )}
        {isOver(job) ? (
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        ) : (
          <Button onClick={onStop}>Stop</Button>
        )}
      </div>
    </div>
  );
}

function statusOf({ state, bytes, bytesRead, records, skipped, inserted, perSecond }: ImportJob): string {
  const rate = perSecond === null ? '' : `, ${formatNumber(perSecond)} a second`;
  switch (state) {
    case 'uploading':
      return `Uploading: ${formatBytes(bytesRead)} of ${formatBytes(bytes)}.`;
    case 'waiting':
      return 'Waiting for other imports.';
    case 'done':
      return `Done: ${countOf(inserted, 'record')} imported, ${formatNumber(skipped)} skipped${rate}.`;
    case 'failed':
      return 'Failed: nothing was imported.';
    case 'cancelled':
      return 'Stopped: nothing was imported.';
    default:
      return `Importing: ${countOf(records, 'record')} read${rate}.`;
  }
}

const problemColumns: readonly Column<ImportProblem>[] = [
  { label: 'Line', numeric: true, cell: ({ line }) => line },
  { label: 'Field', cell: ({ field }) => field },
  { label: 'Problem', cell: ({ reason }) => reason },
];

function Problems({ job: { problems, problemCount } }: { readonly job: ImportJob }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
    <section class="scrolls" tabIndex={0} aria-label="Problems">
      <DataTable
        caption="Problems"
        columns={problemColumns}
        rows={problems}
        rowKey={({ line, field, reason }) => `${line} ${field} ${reason}`}
      />
      {problemCount > problems.length && (
        <p class="quiet">
          The first {formatNumber(problems.length)} of {formatNumber(problemCount)}.
        </p>
      )}
    </section>
  );
}

function problemsFile(problems: readonly ImportProblem[]): Blob {
  const lines = problems.map(({ line, field, reason }) =>
    csvLine([String(line ?? ''), guardFormula(field ?? ''), guardFormula(reason)]),
  );
  return new Blob([csvLine(['line', 'field', 'problem']), ...lines], { type: 'text/csv' });
}
