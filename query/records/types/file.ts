import { textLiteral } from '#engine/literal.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { type FieldTypeEntry, misfit, type StoredValue, type ValueReading } from './field-type.ts';
import { isObject } from './is-object.ts';
import { array } from './nested.ts';
import { text } from './text.ts';

const valid = 'file';
const validList = 'list of files';
/** Files of one value. */
export const mostFiles = 100;
const example = '0197a5c8-7c1e-4d3a-9b52-0c9f6e1d2a34_photo.jpg';

/** In place of the base of a file's address in the stored text of its answer, as no JSON text has this character. */
const mark = '\u0001';

/** The name in a value of a request: a name, or a file as answers have it. Null: it is none. */
function nameIn(value: unknown): string | null {
  const name = isObject(value) && Object.hasOwn(value, 'name') ? value.name : value;
  return typeof name === 'string' && isStoredName(name) ? name : null;
}

function readNames(value: unknown): ValueReading {
  if (!Array.isArray(value)) return misfit(validList);
  if (value.length > mostFiles) return misfit(validList, `at most ${mostFiles} are allowed`);
  const names: string[] = [];
  for (const item of value) {
    const name = nameIn(item);
    if (name === null) return misfit(validList, 'each is the name of a file');
    if (names.includes(name)) return misfit(validList, 'it has a file twice');
    names.push(name);
  }
  return { value: JSON.stringify(names) };
}

const name = { type: 'string', description: 'The `name` of a CloudFile of the project' } as const;

const answer = {
  type: 'object',
  required: ['name', 's3Link', 'contentType', 'size'],
  properties: {
    name: { type: 'string', description: 'The `name` of a CloudFile' },
    s3Link: { type: 'string', description: 'Address of the file' },
    contentType: { type: 'string', description: 'Media type' },
    size: { type: 'integer', minimum: 0, description: 'Bytes' },
    width: { type: 'integer', minimum: 1, description: 'Pixels, as shown. Where they are known' },
    height: { type: 'integer', minimum: 1, description: 'Pixels, as shown' },
    duration: { type: 'number', description: 'Seconds. Where it is known' },
  },
} as const;

/** A file of the project: stored and compared as its name. */
export const file: FieldTypeEntry = {
  ...text,
  words: 'a FILE',
  title: 'File',
  valid,
  can: ['listed'],
  files: 'one',
  read(value) {
    const name = nameIn(value);
    return name === null ? { problem: 'should be the name of an uploaded file' } : { value: name };
  },
  readText: (text, options) => file.read(text, options),
  emptyIsMissing: true,
  infers: () => false,
  schema: name,
  answerSchema: answer,
  example,
  conversions: {},
};

/** Several files: stored and compared as the JSON array of their names. */
export const files: FieldTypeEntry = {
  ...array,
  words: 'a FILE with many',
  title: 'Files',
  valid: validList,
  files: 'many',
  inQuery: `["${example}"]`,
  read: readNames,
  readText(text) {
    try {
      return readNames(JSON.parse(text));
    } catch {
      return misfit(validList);
    }
  },
  infers: () => false,
  schema: { type: 'array', items: name, maxItems: mostFiles },
  answerSchema: { type: 'array', items: answer },
  example: [example],
};

/** The names in a stored value. */
export function namesIn({ files }: Pick<FieldTypeEntry, 'files'>, value: StoredValue): readonly string[] {
  return files === 'many' ? (JSON.parse(String(value)) as string[]) : [String(value)];
}

/** Where the map of all values has the answer of a slot with files. */
export function fileSlot(slot: string): string {
  return `m${slot}`;
}

/** The facts about a file that answers have. */
export interface FileFacts {
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly duration?: number | undefined;
}

/** The stored text of a file's answer. */
export function factsText({ name, contentType, size, width, height, duration }: FileFacts): string {
  const [type, bytes] = [JSON.stringify(contentType), size];
  const sides = width === undefined ? '' : `,"width":${width},"height":${height}`;
  const length = duration === undefined ? '' : `,"duration":${duration}`;
  return `{"name":"${name}","s3Link":"${mark}${name}","contentType":${type},"size":${bytes}${sides}${length}}`;
}

/** The stored text of the answer of a value. @param texts of its files, by name */
export function fileText(
  entry: Pick<FieldTypeEntry, 'files'>,
  value: StoredValue,
  texts: ReadonlyMap<string, string>,
): string {
  const all = namesIn(entry, value).map((name) => texts.get(name) ?? 'null');
  return entry.files === 'many' ? `[${all.join()}]` : (all[0] as string);
}

/** The answer of which `fileText` is the stored text. */
export function linkedText(text: string, links = ''): string {
  return text.replaceAll(mark, jsonPart(links));
}

/** The same by SQL. */
export function linkedTextSql(text: string, links = ''): string {
  return `replaceAll(${text}, char(1), ${textLiteral(jsonPart(links))})`;
}

/** The byte of `mark`, and the bytes in its place. */
export const markByte = 1;
export function linkBytes(links = ''): Buffer {
  return Buffer.from(jsonPart(links));
}

function jsonPart(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
