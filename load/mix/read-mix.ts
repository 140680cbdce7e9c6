import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { JsonProblem, parseLocatedJson } from './located-json.ts';
import type { FileRequest, Mix, MixField, MixRequest, MixSpace, Phase, RecordRequest } from './mix.ts';
import { MixProblem } from './mix-problem.ts';
import { MixReader } from './mix-reader.ts';

const shippedMixes = join(import.meta.dirname, '../mixes');
const recordKinds = [
  'find',
  'findOne',
  'findById',
  'list',
  'insert',
  'insertMany',
  'update',
  'delete',
] as const;
const kinds = [...recordKinds, 'upload', 'download', 'live', 'request'] as const;
const everyRequest = ['kind', 'name', 'weight', 'think'];
const slug = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const allowedSlug = 'letters, digits, - and _, at most 64';
/** Callers, and open streams. */
const mostConnections = 100_000;
const mostInserted = 100_000;
/** Characters of a text. */
const longestText = 10_000_000;

/** @param name a file, or the name of a mix that ships. Throws a MixProblem. */
export async function readMix(name: string): Promise<{ mix: Mix; text: string }> {
  const isShipped = /^(?:peers\/)?[\w-]+$/.test(name);
  const path = isShipped ? join(shippedMixes, `${name}.json`) : name;
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isShipped) throw new MixProblem(name, null, await shippedNames());
    throw new MixProblem(name, null, `the mix can't be read: ${(error as Error).message}`);
  }
  return { mix: parseMix(basename(path), text), text };
}

async function shippedNames(): Promise<string> {
  const files = (await readdir(shippedMixes)).filter((file) => file.endsWith('.json'));
  const names = files.map((file) => basename(file, '.json')).join(', ');
  return `no mix of this name ships: they are ${names}, and those of the folder peers; a file ends in .json`;
}

/** @param value a mix as a file has it. Throws a MixProblem, without a line */
export function mixOfValue(value: unknown): Mix {
  return mixOf(new MixReader('mix', { value, lines: new Map() }), 'mix');
}

/** @param file the name of errors. Throws a MixProblem. */
export function parseMix(file: string, text: string): Mix {
  try {
    return mixOf(new MixReader(file, parseLocatedJson(text)), file.replace(/\.json$/, ''));
  } catch (error) {
    throw error instanceof JsonProblem ? new MixProblem(file, error.line, `the mix ${error.message}`) : error;
  }
}

function mixOf(read: MixReader, standardName: string): Mix {
  read.only(['$schema', 'name', 'description', 'seed', 'spaces', 'requests', 'phases']);
  const namesOfSpaces = new Set<string>();
  const spaces = read.objects('spaces', (item) => spaceOf(item, namesOfSpaces));
  const namesOfRequests = new Set<string>();
  const requests = read.objects('requests', (item) => {
    const request = requestOf(item, spaces);
    item.distinct('name', request.name, namesOfRequests);
    return request;
  });
  if (requests.length === 0) throw read.problem('requests', 'a list of at least one request');
  const live = requests.find(({ kind }) => kind === 'live');
  const phases = read.objects('phases', (item, index) => phaseOf(item, index, live !== undefined));
  if (live !== undefined && !phases.some(({ streams }) => streams > 0))
    throw read.problem('phases', `a list with streams in a phase: the request ${live.name} is a stream`);
  return {
    name: read.text('name', standardName),
    description: read.text('description', ''),
    seed: read.count('seed', 0, 1),
    spaces,
    requests,
    phases: phases.length > 0 ? phases : [closedPhase('load', 30, 16)],
  };
}

/** A phase of a closed loop that counts. */
export function closedPhase(name: string, seconds: number, concurrency: number): Phase {
  return { name, seconds, rate: null, rateAtEnd: null, concurrency, counts: true, streams: 0 };
}

function spaceOf(read: MixReader, names: Set<string>): MixSpace {
  read.only(['name', 'fields', 'records']);
  const name = read.text('name');
  if (!slug.test(name)) throw read.problem('name', allowedSlug);
  read.distinct('name', name, names);
  const namesOfFields = new Set<string>();
  const fields = read.objects('fields', (item) => fieldOf(item, namesOfFields));
  if (fields.length === 0) throw read.problem('fields', 'a list of at least one field');
  return { name, fields, records: read.count('records', 0, 10_000) };
}

function fieldOf(read: MixReader, names: Set<string>): MixField {
  read.only(['name', 'type', 'unique', 'values', 'length']);
  const name = read.text('name');
  if (!slug.test(name)) throw read.problem('name', allowedSlug);
  read.distinct('name', name, names);
  const type = read.oneOf('type', ['TEXT', 'NUMBER', 'BOOLEAN', 'DATETIME'], 'TEXT');
  const unique = read.bool('unique', false);
  if (unique && read.has('values')) throw read.problem('values', 'left out of a unique field');
  if (unique && type === 'BOOLEAN') throw read.problem('unique', 'left out of a BOOLEAN: it has two values');
  return {
    name,
    type,
    unique,
    values: read.has('values') ? read.count('values', 1) : null,
    length: read.has('length') ? read.count('length', 1, undefined, longestText) : null,
  };
}

function requestOf(read: MixReader, spaces: readonly MixSpace[]): MixRequest {
  const kind = read.oneOf('kind', kinds);
  const base = {
    name: read.text('name', kind),
    weight: weightOf(read),
    think: read.milliseconds('think', 0),
  };
  switch (kind) {
    case 'upload':
    case 'download':
      return { kind, ...base, ...fileOf(read) };
    case 'live':
      read.only([...everyRequest, 'space', 'by', 'among']);
      return { kind, ...base, ...conditionOf(read, spaceOfRequest(read, spaces), []) };
    case 'request':
      read.only([...everyRequest, 'method', 'path', 'headers', 'body', 'expect']);
      return { kind, ...base, ...plainOf(read) };
    default:
      return { kind, ...base, ...recordsOf(read, kind, spaceOfRequest(read, spaces)) };
  }
}

function weightOf(read: MixReader): number {
  return read.number('weight', 'a number above 0', (value) => value > 0 && value < 1e9, 1);
}

function recordsOf(read: MixReader, kind: RecordRequest['kind'], space: MixSpace) {
  read.only([...everyRequest, 'space', 'by', 'sort', 'limit', 'pages', 'among', 'records']);
  const { name, fields, records } = space;
  if (records === 0 && kind !== 'list' && !kind.startsWith('insert'))
    throw read.problem('space', `a space with records before the load: ${name} has none`);
  if (kind === 'update' && fields.every(({ unique }) => unique))
    throw read.problem('space', `a space with a field that is not unique: ${name} has none that may change`);
  const needsField = kind === 'find' || kind === 'findOne';
  return {
    ...conditionOf(read, space, needsField ? null : []),
    sort: sortOf(read, space),
    limit: read.count('limit', 0, kind === 'list' ? 20 : 0),
    pages: pagesOf(read),
    records: read.count('records', 1, 1000, mostInserted),
  };
}

function sortOf(read: MixReader, { name, fields }: MixSpace): string | null {
  if (!read.has('sort')) return null;
  const sort = read.text('sort');
  if (fields.some((field) => field.name === sort.replace(/^-/, ''))) return sort;
  throw read.problem('sort', `a field of the space ${name}, or - and a field: ${namesOf(fields)}`);
}

function pagesOf(read: MixReader): number {
  const pages = read.count('pages', 1, 1);
  if (pages > 1 && !read.has('limit')) throw read.problem('limit', 'there beside pages');
  return pages;
}

function spaceOfRequest(read: MixReader, spaces: readonly MixSpace[]): MixSpace {
  const only = spaces.length === 1 ? spaces[0] : undefined;
  const space = read.has('space') ? spaces.find(({ name }) => name === read.text('space')) : only;
  if (space !== undefined) return space;
  throw read.problem('space', `one of the mix's spaces: ${namesOf(spaces) || 'it has none'}`);
}

function namesOf(list: readonly { readonly name: string }[]): string {
  return list.map(({ name }) => name).join(', ');
}

/** @param standardBy null: the first unique field, or the first */
function conditionOf(read: MixReader, space: MixSpace, standardBy: readonly string[] | null) {
  const first = (space.fields.find(({ unique }) => unique) ?? space.fields[0])?.name as string;
  const by = read.texts('by', standardBy ?? [first]);
  if (by.some((name) => !space.fields.some((field) => field.name === name)))
    throw read.problem('by', `fields of the space ${space.name}: ${namesOf(space.fields)}`);
  return { space: space.name, by, among: read.has('among') ? read.count('among', 1) : null };
}

function fileOf(read: MixReader): Pick<FileRequest, 'by' | 'sizes'> {
  read.only([...everyRequest, 'by', 'sizes']);
  const sizes = read.objects('sizes', (item) => {
    item.only(['bytes', 'weight']);
    return { bytes: item.bytes('bytes'), weight: weightOf(item) };
  });
  if (sizes.length === 0) throw read.problem('sizes', 'a list of at least one size');
  return { by: read.oneOf('by', ['form', 'put', 'tus', 'direct'], 'form'), sizes };
}

function plainOf(read: MixReader) {
  const path = read.text('path');
  if (!/^\/[\x21-\x7e]*$/.test(path))
    throw read.problem('path', 'a path that begins with /, in ASCII without spaces');
  const headers = read.textsByName('headers');
  for (const [name, value] of Object.entries(headers))
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw read.problem('headers', 'header fields of HTTP');
    else if (/^(content-length|transfer-encoding)$/i.test(name))
      throw read.problem('headers', `without ${name}, which follows from the body`);
  const method = read.text('method', 'GET');
  if (!/^[A-Z]{1,20}$/.test(method)) throw read.problem('method', 'a method in capitals');
  const body = read.has('body') ? read.text('body') : null;
  return { method, path, headers, body, expect: read.has('expect') ? read.counts('expect') : null };
}

function phaseOf(read: MixReader, index: number, hasLive: boolean): Phase {
  read.only(['name', 'seconds', 'rate', 'rateAtEnd', 'concurrency', 'requests', 'counts', 'streams']);
  const rate = (key: string): number | null =>
    read.has(key) ? read.number(key, 'a number above 0', (value) => value > 0 && value <= 1e7) : null;
  const concurrency = read.has('concurrency')
    ? read.count('concurrency', 1, undefined, mostConnections)
    : null;
  const streams = read.count('streams', 0, 0, mostConnections);
  if (streams > 0 && !hasLive) throw read.problem('streams', 'left out of a mix without a live request');
  if (read.has('rate') && concurrency !== null)
    throw read.problem('rate', 'left out of a phase with concurrency: a loop is open or closed');
  if (read.has('requests') && concurrency === null)
    throw read.problem('concurrency', 'there beside requests');
  if (read.has('rateAtEnd') && !read.has('rate')) throw read.problem('rate', 'there beside rateAtEnd');
  if (!read.has('rate') && concurrency === null && streams === 0)
    throw read.problem('rate', 'there, or concurrency, or streams');
  return {
    name: read.text('name', `phase ${index + 1}`),
    seconds: read.number('seconds', 'a number above 0', (value) => value > 0 && value <= 1e6),
    rate: rate('rate'),
    rateAtEnd: rate('rateAtEnd'),
    concurrency,
    requests: read.has('requests') ? read.count('requests', 1) : null,
    counts: read.bool('counts', true),
    streams,
  };
}
