import { arrayOf, count, dateTime, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import { importFormats } from '../formats/source-records.ts';
import { jobStates, mostProblems } from './import-job.ts';

const problem = exactObject({
  line: { ...nullable(count), description: 'Line of the file, from 1' },
  field: nullable(string),
  reason: string,
});

/** A job as `jobJson` shows it. */
export const jobSchema = named(
  'Job',
  exactObject({
    id: string,
    kind: { type: 'string', enum: ['import'] },
    state: { type: 'string', enum: [...jobStates] },
    project: string,
    space: string,
    format: { type: 'string', enum: [...importFormats] },
    onError: { type: 'string', enum: ['stop', 'skip'] },
    bytes: { ...count, description: 'Size of the file' },
    bytesRead: count,
    records: { ...count, description: 'Records that were read' },
    skipped: { ...count, description: 'Records that were left out' },
    updated: { ...count, description: 'Records that updated stored ones' },
    inserted: { ...count, description: 'Records that were stored' },
    perSecond: { ...nullable(count), description: 'Records read per second' },
    problems: { ...arrayOf(problem), description: `The first ${mostProblems}` },
    problemCount: count,
    remarks: { ...arrayOf(string), description: 'About TEXT fields whose values are mostly of another type' },
    error: { ...nullable(string), description: 'Why it failed' },
    createdAt: dateTime,
    startedAt: nullable(dateTime),
    endedAt: nullable(dateTime),
  }),
);

/** The answer to a request with `dryRun`. */
export const previewSchema = named(
  'ImportPreview',
  exactObject({
    structure: {
      type: 'object',
      additionalProperties: true,
      description: 'In the form of the `structure` header',
    },
    columns: arrayOf(exactObject({ name: string, field: nullable(string) })),
    rows: arrayOf(exactObject({ line: count, values: { type: 'array', items: {} } })),
    records: { ...count, description: 'Records that were checked' },
    problems: arrayOf(problem),
    remarks: {
      ...arrayOf(exactObject({ column: string, reason: string })),
      description: 'About TEXT columns whose values are mostly of another type',
    },
    suggested: {
      ...exactObject({
        nulls: nullable(string),
        true: nullable(string),
        decimal: nullable(string),
        timeZone: nullable(string),
      }),
      description: 'Parameters that would give more columns a type; null: not needed',
    },
  }),
);
