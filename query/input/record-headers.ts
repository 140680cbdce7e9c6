import { invalidHeader } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

/** A header that is true or false. */
export interface Flag {
  readonly header: string;
  /** The value of a request without it. */
  readonly absent: boolean;
  readonly meaning: string;
}

/** The headers that interface.md section 4.2 defines, with their defaults, and `infer-structure`. */
export const recordFlags = {
  autoCreateProject: {
    header: 'auto-create-project',
    absent: true,
    meaning: 'Whether a write creates a project that does not exist; with false it gets 404',
  },
  autoCreateRecordSpace: {
    header: 'auto-create-record-space',
    absent: true,
    meaning: 'Whether a write creates a record space that does not exist; with false it gets 404',
  },
  clearAllSpaces: {
    header: 'clear-all-spaces',
    absent: false,
    meaning: 'Deletes all records of the project first; the server must allow it',
  },
  mutate: {
    header: 'mutate',
    absent: true,
    meaning:
      'Whether the stored structure is adapted to the one of the request; with false a field that is not stored gets 400',
  },
  usePreStoredStructure: {
    header: 'use-pre-stored-structure',
    absent: false,
    meaning: 'Whether the stored structure is used',
  },
  inferStructure: {
    header: 'infer-structure',
    absent: false,
    meaning:
      'Whether, without the header `structure`, the stored structure gets a field for each other key of the body',
  },
} as const satisfies Record<string, Flag>;

export type RecordHeaders = { readonly [Key in keyof typeof recordFlags]: boolean };

const flags = Object.entries<Flag>(recordFlags);
const names = flags.map(([, { header }]) => header);
const absent = Object.fromEntries(flags.map(([key, flag]) => [key, flag.absent])) as RecordHeaders;

/** Throws a 400 that lists every bad value. */
export function readRecordHeaders(request: Pick<HttpRequest, 'header'>): RecordHeaders {
  let text = '';
  for (const name of names) {
    const value = request.header(name);
    // an empty header is present, and invalid
    if (value !== undefined) text += `${name}=${value}\n`;
  }
  // most requests have none of these headers
  if (text === '') return absent;
  // most others repeat the headers of the request before
  if (request.header('structure')) text += 'structure';
  if (text !== last?.text) last = { text, headers: parseFlags(request) };
  return last.headers;
}

let last: { readonly text: string; readonly headers: RecordHeaders } | undefined;

function parseFlags(request: Pick<HttpRequest, 'header'>): RecordHeaders {
  const problems: string[] = [];
  const read = ({ header, absent }: Flag): boolean => {
    const value = request.header(header);
    if (value === undefined) return absent;
    if (value !== 'true' && value !== 'false') {
      problems.push(`Header ${header} is ${shownName(value)}: it should be true or false`);
    }
    return value === 'true';
  };
  const headers = Object.fromEntries(flags.map(([key, flag]) => [key, read(flag)])) as RecordHeaders;
  const sources: string[] = [];
  if (request.header('structure')) sources.push('structure');
  if (headers.usePreStoredStructure) sources.push('use-pre-stored-structure: true');
  if (headers.inferStructure) sources.push('infer-structure: true');
  if (sources.length > 1) {
    problems.push(`The headers ${sources.join(' and ')} contradict each other: send one of them`);
  }
  if (problems.length > 0) throw invalidHeader(problems);
  return headers;
}
