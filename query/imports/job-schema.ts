import {
  arrayOf,
  count,
  dateTime,
  exactObject,
  named,
  nullable,
  string,
} from '../../common/openapi/schema.ts';
import { importFormats } from './file-records.ts';
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
    skipped: { ...count, description: 'How many of them have problems' },
    inserted: { ...count, description: 'How many are stored' },
    perSecond: { ...nullable(count), description: 'Records that were read in a second' },
    problems: { ...arrayOf(problem), description: `The first ${mostProblems}` },
    problemCount: count,
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
    records: { ...count, description: 'How many were looked at' },
    problems: arrayOf(problem),
  }),
);
