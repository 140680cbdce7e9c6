import { arrayOf, count, dateTime, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import { importFormats } from '../formats/source-records.ts';
import { jobStates, mostProblems } from './import-job.ts';

const problem = exactObject({
  line: { ...nullable(count), description: 'Of the file, from 1' },
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
    bytes: { ...count, description: 'Of the file' },
    bytesRead: count,
    records: { ...count, description: 'How many were read' },
    skipped: { ...count, description: 'How many of them are left out' },
    updated: { ...count, description: 'How many changed stored records' },
    inserted: { ...count, description: 'How many are stored' },
    perSecond: { ...nullable(count), description: 'Records that were read in a second' },
    problems: { ...arrayOf(problem), description: `The first ${mostProblems}` },
    problemCount: count,
    remarks: { ...arrayOf(string), description: 'On fields that are TEXT, and nearly of another type' },
    error: { ...nullable(string), description: 'Why it failed' },
    createdAt: dateTime,
    startedAt: nullable(dateTime),
    endedAt: nullable(dateTime),
  }),
);

/** What `dryRun` answers. */
export const previewSchema = named(
  'ImportPreview',
  exactObject({
    structure: {
      type: 'object',
      additionalProperties: true,
      description: 'As the `structure` header has it',
    },
    columns: arrayOf(exactObject({ name: string, field: nullable(string) })),
    rows: arrayOf(exactObject({ line: count, values: { type: 'array', items: {} } })),
    records: { ...count, description: 'How many were looked at' },
    problems: arrayOf(problem),
    remarks: {
      ...arrayOf(exactObject({ column: string, reason: string })),
      description: 'On columns that are TEXT, and nearly of another type',
    },
    suggested: {
      ...exactObject({ nulls: nullable(string), true: nullable(string), decimal: nullable(string) }),
      description: 'Choices by which more columns get a type; null: none is needed',
    },
  }),
);
