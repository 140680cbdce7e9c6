import { invalidHeader } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';

/** The fixed headers of interface.md section 4.2. */
export interface RecordHeaders {
  readonly autoCreateProject: boolean;
  readonly autoCreateRecordSpace: boolean;
  readonly clearAllSpaces: boolean;
  /** The stored structure may change to match the one of the request. */
  readonly mutate: boolean;
  readonly usePreStoredStructure: boolean;
  /** The structure is the one that the body has. */
  readonly inferStructure: boolean;
}

/** An absent header has the value that section 4.2 fixes for it. Throws a 400 that lists every bad value. */
export function readRecordHeaders(request: Pick<HttpRequest, 'header'>): RecordHeaders {
  // requests mostly have those of the one before
  let text = request.header('structure') ? 'structure' : '';
  for (const name of names) {
    const value = request.header(name);
    // one that is empty is there, and wrong
    text += value === undefined ? '\n' : `\n=${value}`;
  }
  if (text !== last.text) last = { text, headers: readGiven(request) };
  return last.headers;
}

const absent: RecordHeaders = Object.freeze({
  autoCreateProject: true,
  autoCreateRecordSpace: true,
  clearAllSpaces: false,
  mutate: true,
  usePreStoredStructure: false,
  inferStructure: false,
});

const names = [
  ...['auto-create-project', 'auto-create-record-space', 'clear-all-spaces', 'mutate'],
  ...['use-pre-stored-structure', 'infer-structure'],
];

let last = { text: '', headers: absent };

function readGiven(request: Pick<HttpRequest, 'header'>): RecordHeaders {
  const problems: string[] = [];
  const flag = (name: string, fallback: boolean): boolean => {
    const value = request.header(name);
    if (value === undefined) return fallback;
    if (value !== 'true' && value !== 'false') {
      problems.push(`Header ${name} is ${shownName(value)}: it should be true or false`);
    }
    return value === 'true';
  };
  const headers = {
    autoCreateProject: flag('auto-create-project', absent.autoCreateProject),
    autoCreateRecordSpace: flag('auto-create-record-space', absent.autoCreateRecordSpace),
    clearAllSpaces: flag('clear-all-spaces', absent.clearAllSpaces),
    mutate: flag('mutate', absent.mutate),
    usePreStoredStructure: flag('use-pre-stored-structure', absent.usePreStoredStructure),
    inferStructure: flag('infer-structure', absent.inferStructure),
  };
  const sources = [
    ...(request.header('structure') ? ['structure'] : []),
    ...(headers.usePreStoredStructure ? ['use-pre-stored-structure: true'] : []),
    ...(headers.inferStructure ? ['infer-structure: true'] : []),
  ];
  if (sources.length > 1) {
    problems.push(`The headers ${sources.join(' and ')} contradict each other: send one of them`);
  }
  if (problems.length > 0) throw invalidHeader(problems);
  return headers;
}
