import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { JsonProblem, parseLocatedJson } from './located-json.ts';
import type { FileRequest, Mix, MixField, MixRequest, MixSpace, Phase } from './mix.ts';
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
  const spaces = read.objects('spaces', spaceOf);
  const requests = read.objects('requests', (item) => requestOf(item, spaces));
  if (requests.length === 0) throw read.problem('requests', 'a list of at least one request');
  const names = new Set<string>();
  for (const { name } of requests) {
    if (names.has(name)) throw read.problem('requests', `requests with different names: ${name} comes twice`);
    names.add(name);
  }
  const phases = read.objects('phases', phaseOf);
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

function spaceOf(read: MixReader): MixSpace {
  read.only(['name', 'fields', 'records']);
  const name = read.text('name');
  if (!slug.test(name)) throw read.problem('name', 'letters, digits, - and _, at most 64');
  const fields = read.objects('fields', fieldOf);
  if (fields.length === 0) throw read.problem('fields', 'a list of at least one field');
  return { name, fields, records: read.count('records', 0, 10_000) };
}

function fieldOf(read: MixReader): MixField {
  read.only(['name', 'type', 'unique', 'values', 'length']);
  const name = read.text('name');
  if (!slug.test(name)) throw read.problem('name', 'letters, digits, - and _, at most 64');
  const unique = read.bool('unique', false);
  if (unique && read.has('values')) throw read.problem('values', 'left out of a unique field');
  return {
    name,
    type: read.oneOf('type', ['TEXT', 'NUMBER', 'BOOLEAN', 'DATETIME'], 'TEXT'),
    unique,
    values: read.has('values') ? read.count('values', 1) : null,
    length: read.has('length') ? read.count('length', 1) : null,
  };
}

function requestOf(read: MixReader, spaces: readonly MixSpace[]): MixRequest {
  const kind = read.oneOf('kind', kinds);
  const base = {
    name: read.text('name', kind),
    weight: read.number('weight', 'a number above 0', (value) => value > 0 && value < 1e9, 1),
    think: read.milliseconds('think', 0),
  };
  switch (kind) {
    case 'upload':
    case 'download':
      return { kind, ...base, ...fileOf(read) };
    case 'live':
      read.only([...everyRequest, 'space', 'by', 'among']);
      return { kind, ...base, ...conditionOf(read, spaces, []) };
    case 'request':
      read.only([...everyRequest, 'method', 'path', 'headers', 'body', 'expect']);
      return { kind, ...base, ...plainOf(read) };
    default: {
      read.only([...everyRequest, 'space', 'by', 'sort', 'limit', 'pages', 'among', 'records']);
      const needsField = kind === 'find' || kind === 'findOne';
      return {
        kind,
        ...base,
        ...conditionOf(read, spaces, needsField ? null : []),
        sort: read.has('sort') ? read.text('sort') : null,
        limit: read.count('limit', 0, kind === 'list' ? 20 : 0),
        pages: pagesOf(read),
        records: read.count('records', 1, 1000),
      };
    }
  }
}

function pagesOf(read: MixReader): number {
  const pages = read.count('pages', 1, 1);
  if (pages > 1 && !read.has('limit')) throw read.problem('limit', 'there beside pages');
  return pages;
}

/** @param standardBy null: the first unique field, or the first */
function conditionOf(read: MixReader, spaces: readonly MixSpace[], standardBy: readonly string[] | null) {
  const only = spaces.length === 1 ? spaces[0]?.name : undefined;
  const name = read.text('space', only);
  const space = spaces.find((one) => one.name === name);
  if (space === undefined)
    throw read.problem(
      'space',
      `one of the mix's spaces: ${spaces.map((one) => one.name).join(', ') || 'it has none'}`,
    );
  const first = (space.fields.find(({ unique }) => unique) ?? space.fields[0])?.name as string;
  const by = read.texts('by', standardBy ?? [first]);
  const fields = space.fields.map((field) => field.name);
  if (by.some((field) => !fields.includes(field)))
    throw read.problem('by', `fields of the space ${name}: ${fields.join(', ')}`);
  return { space: name, by, among: read.has('among') ? read.count('among', 1) : null };
}

function fileOf(read: MixReader): Pick<FileRequest, 'by' | 'sizes'> {
  read.only([...everyRequest, 'by', 'sizes']);
  const sizes = read.objects('sizes', (item) => {
    item.only(['bytes', 'weight']);
    const weight = item.number('weight', 'a number above 0', (value) => value > 0, 1);
    return { bytes: item.bytes('bytes'), weight };
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
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[\r\n\0]/.test(value))
      throw read.problem('headers', 'header fields of HTTP');
  const method = read.text('method', 'GET');
  if (!/^[A-Z]{1,20}$/.test(method)) throw read.problem('method', 'a method in capitals');
  const body = read.has('body') ? read.text('body') : null;
  return { method, path, headers, body, expect: read.has('expect') ? read.counts('expect') : null };
}

function phaseOf(read: MixReader, index: number): Phase {
  read.only(['name', 'seconds', 'rate', 'rateAtEnd', 'concurrency', 'requests', 'counts', 'streams']);
  const rate = (key: string): number | null =>
    read.has(key) ? read.number(key, 'a number above 0', (value) => value > 0 && value <= 1e7) : null;
  const concurrency = read.has('concurrency') ? read.count('concurrency', 1) : null;
  const streams = read.count('streams', 0, 0);
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
