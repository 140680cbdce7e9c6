import { EngineEnded, EngineMissing } from '#engine/engine-process.ts';
import { exceededLimit } from '#engine/exceeded-limit.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { notImplemented, queryTooExpensive, unreadableFile } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Log } from '#kernel/log/log.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import type { FileFormat } from './file-format.ts';

/** What a statement may cost. */
export interface EngineCost {
  /** Milliseconds. */
  readonly timeout: number;
  /** What sets the limit. */
  readonly by: string;
}

/**
 * Errors of the engine that come from our statements, and never from a file: UNKNOWN_IDENTIFIER, UNKNOWN_FUNCTION,
 * SYNTAX_ERROR, UNKNOWN_SETTING and NOT_AN_AGGREGATE.
 */
const statementErrors: ReadonlySet<string> = new Set(['47', '46', '62', '115', '215']);

/** The error as the client sees it, without details of the server. */
export function fileError(
  error: unknown,
  format: FileFormat,
  cost: EngineCost,
  log: Pick<Log, 'warn'>,
): unknown {
  if (error instanceof ApiError || !(error instanceof Error)) return error;
  if (error instanceof FileProblem)
    return unreadableFile(`${error.line === null ? '' : `line ${error.line}: `}${error.message}`, error);
  if (error instanceof EngineMissing)
    return notImplemented('A query of a file, on a server without the embedded engine (chdb),');
  if (error instanceof EngineEnded) {
    log.warn({ err: error }, 'an engine ended while it was reading a file');
    return unreadableFile(`the engine ended while reading it as ${format.name}`, error);
  }
  const limit = exceededLimit(error);
  switch (limit?.of) {
    case 'time':
      return queryTooExpensive(
        `takes the engine longer than the ${cost.timeout} ms that ${cost.by} allows: the file is too large for it`,
        error,
      );
    case 'memory':
      return queryTooExpensive(
        'needs more memory than it may use: ask for fewer groups, or for fewer sorted rows',
        error,
      );
    case 'groups':
    case 'answer':
      return queryTooExpensive('has too many groups: add a condition, or ask for fewer groups', error);
  }
  const [, code] = /^Code: (\d+)\./.exec(error.message) ?? [];
  if (code === undefined || statementErrors.has(code)) return error;
  return unreadableFile(reasonOf(error.message, format), error);
}

/** The reason, where the reader of imports finds no problem. */
function reasonOf(message: string, { name, isGzip }: FileFormat): string {
  const [, twice] = /Cannot add column (.*?): column with this name already exists/.exec(message) ?? [];
  if (twice !== undefined) return `two of its columns have the name ${shownName(twice)}`;
  const [, old] = /INT96 timestamp out of range.*?: column: (.*?): \(in file/.exec(message) ?? [];
  if (old !== undefined) return `its column ${shownName(old)} has INT96 times that only imports read`;
  const [, encrypted] =
    /TProtocolException: Invalid data: read stage: ColumnData: column: (.*?): \(in file/.exec(message) ?? [];
  if (encrypted !== undefined) return `its column ${shownName(encrypted)} is damaged, or encrypted`;
  const [, key] = /while reading the value of key (.*?)\)/.exec(message) ?? [];
  if (key !== undefined) return `a value of ${shownName(key)} is not of the type of the earlier values`;
  if (name === 'Parquet') return 'it is not a complete Parquet file';
  return `it is not ${name}${isGzip ? ' compressed with gzip' : ''}, or it is damaged`;
}
