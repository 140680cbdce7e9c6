import { atHand, type List } from './at-hand.ts';
import { streamWithoutHidden, withHidden, withoutHidden } from './hidden-values.ts';
import type { Options, Page } from './input/parse-options.ts';
import type { Target } from './structure/field.ts';
import { type RecordParts, wholeRecord } from './structure/record-parts.ts';
import type { Structure } from './structure/structure.ts';

/** A larger page is streamed, and its end is not known when its headers are sent. */
const mostPageBytes = 4 * 1024 ** 2;
/** A page of many records is streamed as well, without waiting for its end. */
const fewRecords = 1000;
const fewBytes = 16 * 1024;
/** Node's own client accepts 16 KiB of headers. */
const longestCursor = 4096;
const lineBreak = 10;

/** The hidden values of the last record of a list (hidden-values.ts). */
const lastValues = new WeakMap<Uint8Array, string>();

/** Where the page after a list begins, in the form of `$after`. */
export class NextPage {
  /** Values to read; null: whole records. */
  readonly select: RecordParts | null;
  /** Whether the `options` header says where this page begins: an address that is sent with it can't say it again. */
  readonly beginsInHeader: boolean;
  readonly #page: Page;
  readonly #isHiding: boolean;
  readonly #targets: readonly Target[];
  readonly #hasIds: boolean;

  /** @param structure of the records */
  constructor({ page, pageInHeader, sort, select }: Options & { readonly page: Page }, structure: Structure) {
    const { parts } = select ?? wholeRecord(structure);
    const isShown = (target: Target): boolean =>
      parts.some((part) => part.target === target && part.path.length === 0);
    this.#page = page;
    this.beginsInHeader = pageInHeader;
    this.#hasIds = structure.ofFile !== true;
    this.#targets = (sort ?? []).map(({ target }) => target);
    this.#isHiding = this.#hasIds && select !== null && !this.#targets.every(isShown);
    this.select = select !== null && this.#isHiding ? withHidden(select, this.#targets) : select;
  }

  /** The list without the values that were read for the cursor only. */
  shown(list: Uint8Array): Uint8Array {
    if (!this.#isHiding) return list;
    const { list: shown, last } = withoutHidden(list);
    if (last !== null) lastValues.set(shown, last);
    return shown;
  }

  /** The same for a list that may be a stream. A page that is not large is read to its end. */
  async taken(list: List): Promise<List> {
    const read = await atHand(list, this.#page.limit > fewRecords ? fewBytes : mostPageBytes);
    if (read instanceof Uint8Array) return this.shown(read);
    return this.#isHiding ? streamWithoutHidden(read) : read;
  }

  /** Null: the page is not full. A streamed page counts as full, so the next one may be empty. */
  cursorOf(list: List): string | null {
    if (!(list instanceof Uint8Array)) return this.#skipping();
    const record = lastOf(list, this.#page.limit);
    if (record === null) return null;
    if (!this.#hasIds) return this.#skipping();
    const values = this.#isHiding ? lastValues.get(list) : JSON.stringify(this.#shownValues(record));
    if (values === undefined) return this.#skipping();
    const id = JSON.stringify(record.id);
    const cursor = ascii(this.#targets.length === 0 ? `{"id":${id}}` : `{"id":${id},"values":${values}}`);
    return cursor.length > longestCursor ? this.#skipping() : cursor;
  }

  #shownValues(record: Readonly<Record<string, unknown>>): readonly unknown[] {
    return this.#targets.map((target) => record[typeof target === 'string' ? target : target.name] ?? null);
  }

  /** The number of records from the beginning of this page to the beginning of the next. */
  #skipping(): string {
    const { given, offset, limit } = this.#page;
    return ascii(JSON.stringify({ ...given, skip: offset + limit }));
  }
}

/** Null: the request does not want pages. */
export function nextPage(options: Options, structure: Structure): NextPage | null {
  const { page } = options;
  return page === null ? null : new NextPage({ ...options, page }, structure);
}

/** The last record of a full page. Each record is on its own line. */
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

/** The JSON with ASCII characters only, for a header. */
function ascii(json: string): string {
  return json.replace(/[^ -~]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
