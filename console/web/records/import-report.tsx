import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { Problem } from '../problem.ts';
import { csvLine, guardFormula } from './csv-writer.ts';
import type { BadRow, ImportReport, ImportState } from './import-records.ts';
import { saveFile } from './save-file.ts';

export interface ImportReportProps {
  readonly state: ImportState;
  readonly size: number;
  readonly onStop: () => void;
  readonly onClose: () => void;
}

const shownRows = 100;

/** The progress of the import, and then its outcome by rows. */
export function ImportReportView({ state, size, onStop, onClose }: ImportReportProps): JSX.Element {
  const { report, read, over } = state;
  return (
    <div class="stack">
      <ProgressBar label="Import" done={over && report.stopped === null ? size : read} total={size} />
      <p role="status">
        {over ? (report.stopped === null ? 'Done: ' : 'Stopped: ') : 'Importing: '}
        <strong>{countOf(report.stored, 'record')}</strong> stored,{' '}
        <strong>{countOf(report.badCount, 'bad row')}</strong> left out.
      </p>
      {report.stopped !== null && <Stopped stopped={report.stopped} />}
      {report.bad.length > 0 && over && <BadRows report={report} />}
      <div class="row dialog-actions">
        {over && report.bad.length > 0 && (
          <Button icon="download" onClick={() => saveFile(badRowsFile(report), 'bad-rows.csv')}>
            Save the list of bad rows
          </Button>
        )}
        {over ? (
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

function Stopped({ stopped }: { readonly stopped: NonNullable<ImportReport['stopped']> }): JSX.Element {
  const { problem, unsure } = stopped;
  return (
    <ProblemNote problem={new Problem(problem)}>
      {unsure !== null && (
        <p>
          Whether the rows from line {formatNumber(unsure[0])} to {formatNumber(unsure[1])} are stored is not
          known: there was no answer. Search for them before you import them again.
        </p>
      )}
    </ProblemNote>
  );
}

const badColumns: readonly Column<BadRow>[] = [
  { label: 'Line', numeric: true, cell: ({ line }) => line },
  { label: 'Problem', cell: ({ problem }) => problem },
];

function BadRows({ report }: { readonly report: ImportReport }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
    <section class="scrolls" tabIndex={0} aria-label="Bad rows">
      <DataTable
        caption="Bad rows"
        columns={badColumns}
        rows={report.bad.slice(0, shownRows)}
        rowKey={({ line }) => String(line)}
      />
      {report.badCount > shownRows && (
        <p class="quiet">
          The first {shownRows} of {formatNumber(report.badCount)}. The list to save has the first{' '}
          {formatNumber(report.bad.length)}.
        </p>
      )}
    </section>
  );
}

function badRowsFile(report: ImportReport): Blob {
  const lines = report.bad.map(({ line, problem }) => csvLine([String(line), guardFormula(problem)]));
  return new Blob([csvLine(['line', 'problem']), ...lines], { type: 'text/csv' });
}
