import type { Headers, HttpRequest } from '../../common/http/http-types.ts';
import type { Options } from '../input/parse-options.ts';
import type { Target } from '../structure/field.ts';
import { wholeRecord } from '../structure/record-parts.ts';
import type { Structure } from '../structure/structure.ts';

/** Larger pages are streamed, and where they end is not known before they are sent. */
const mostRecords = 1000;
export const mostPageBytes = 4 * 1024 ** 2;
/** Node's own client takes 16 KiB of headers. */
const longestCursor = 4096;
const longestLink = 8192;
const lineBreak = 10;

/** Where the page after a list begins, in the form of `$after`; null: there is none, or nobody can tell. */
export type NextOf = (list: Uint8Array) => string | null;

/** Null: no page is asked for, or its records don't show what they are sorted by. */
export function nextOf({ page, sort, select }: Options, structure: Structure): NextOf | null {
  if (page === null || page.limit > mostRecords) return null;
  const { parts } = select ?? wholeRecord(structure);
  const targets = (sort ?? []).map(({ target }) => target);
  const isShown = (target: Target): boolean =>
    parts.some((part) => part.target === target && part.path.length === 0);
  if (!targets.every(isShown)) return null;
  return (list) => {
    const record = lastOf(list, page.limit);
    if (record === null) return null;
    const values = targets.map((target) => record[typeof target === 'string' ? target : target.name] ?? null);
    const { id } = record;
    const cursor = JSON.stringify(sort === null ? { id } : { id, values }).replace(/[^ -~]/g, escaped);
    return cursor.length > longestCursor ? null : cursor;
  };
}

/** The last record of a full page. Every one has a line of its own. */
function lastOf(list: Uint8Array, limit: number): Readonly<Record<string, unknown>> | null {
  const bytes = Buffer.from(list.buffer, list.byteOffset, list.byteLength);
  let end = bytes.byteLength - 1;
  if (bytes[end - 1] === lineBreak) end--;
  let from = 1;
  let records = 1;
  for (let at = bytes.indexOf(lineBreak); at >= 0 && at < end; at = bytes.indexOf(lineBreak, from)) {
    from = at + 1;
    records++;
  }
  if (records < limit || end <= from) return null;
  return JSON.parse(bytes.toString('utf8', from, end).replace(/^,/, '')) as Record<string, unknown>;
}

/** Headers are ASCII. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** RFC 8288, for a page that is asked for in the address; otherwise the value that the question takes. */
export function nextHeaders({ method, query, rawQuery }: HttpRequest, cursor: string): Headers {
  if ((method === 'GET' || method === 'HEAD') && query.some(([name]) => name === '$limit')) {
    const others = rawQuery.split('&').filter((pair) => !/^(?:\$|%24)(?:page|after)=/i.test(pair));
    const next = [...others, `$after=${encodeURIComponent(cursor)}`].join('&');
    const link = `<?${next.replace(/[^!-~]|[<>"]/gu, encodeURIComponent)}>; rel="next"`;
    if (link.length <= longestLink) return { link };
  }
  return { 'sluice-next-after': cursor };
}
