import { EngineEnded, EngineMissing } from '#engine/engine-process.ts';
import { exceededLimit } from '#engine/exceeded-limit.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { notImplemented, queryTooExpensive, unreadableFile } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Log } from '#kernel/log/log.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import type { FileFormat } from './file-format.ts';

/** Of one statement. */
export interface EngineCost {
  /** Milliseconds. */
  readonly timeout: number;
  /** What says so. */
  readonly by: string;
}

/**
 * Errors of the engine that no file brings about, but a statement of ours: UNKNOWN_IDENTIFIER, UNKNOWN_FUNCTION,
 * SYNTAX_ERROR, UNKNOWN_SETTING and NOT_AN_AGGREGATE.
 */
const ours: ReadonlySet<string> = new Set(['47', '46', '62', '115', '215']);

/** What is wrong, in words that name nothing of the server. */
export function fileError(
  error: unknown,
  format: FileFormat,
  cost: EngineCost,
  log: Pick<Log, 'warn'>,
): unknown {
  if (error instanceof ApiError || !(error instanceof Error)) return error;
  if (error instanceof FileProblem) return unreadableFile(error.message, error);
  if (error instanceof EngineMissing)
    return notImplemented('A query of a file, on a server without the embedded engine (chdb),');
  if (error instanceof EngineEnded) {
    log.warn({ err: error }, 'an engine ended while it read a file');
    return unreadableFile(`the engine ended while it read it as ${format.name}`, error);
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
        'takes more memory than it may: ask for fewer groups, or for fewer of the rows in order',
        error,
      );
    case 'groups':
    case 'answer':
      return queryTooExpensive('has too many groups: add a condition, or ask for fewer groups', error);
  }
  const [, code] = /^Code: (\d+)\./.exec(error.message) ?? [];
  if (code === undefined || ours.has(code)) return error;
  return unreadableFile(reasonOf(error.message, format), error);
}

function reasonOf(message: string, { name, isGzip }: FileFormat): string {
  const [, text] = /floating point value here: (.*?): Cannot parse Float64/s.exec(message) ?? [];
  if (text !== undefined) return `a cell of a column of numbers is ${shownName(text)}`;
  const [, value] = /Cannot parse boolean value here: '(.*?)',/.exec(message) ?? [];
  if (value !== undefined) return `a cell of a column of booleans is ${shownName(value)}`;
  const [, key] = /while reading the value of key (.*?)\)/.exec(message) ?? [];
  if (key !== undefined) return `a value of ${shownName(key)} is not of the type of the values before`;
  if (/Expected end of line/.test(message)) return 'a row has more cells than the first line';
  if (/less columns than expected|expected '.' before/.test(message) && name === 'CSV')
    return 'a row has fewer cells than the first line, or a quote that does not end';
  return `it is no ${name}${isGzip ? ' compressed with gzip' : ''}, or damaged`;
}
