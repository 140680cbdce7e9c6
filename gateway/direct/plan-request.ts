import { longestExpiry } from '#kernel/config/longest-expiry.ts';
import { directPartLimits } from '#kernel/config/s3-part-sizes.ts';
import { invalidBody } from '#kernel/errors/catalogue.ts';
import type { Schema } from '#kernel/json/schema.ts';
import { maxOriginalCharacters } from '../files/file-name.ts';
import { type PropertyName, readProperties, type SentProperties } from '../files/sent-properties.ts';

/** A plan as a client asks for it. */
export interface PlanRequest {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly contentType?: string;
  /** Hexadecimal digits. */
  readonly sha256?: string;
  /** Four bytes in base64. */
  readonly crc32c?: string;
  /** Eight bytes in base64, which only the store's own can be compared with. */
  readonly crc64nvme?: string;
  /** The size of parts that the client would like. */
  readonly partBytes?: number;
  /** Of each part, in base64. */
  readonly partMd5?: readonly string[];
  readonly partCrc32c?: readonly string[];
  /** What else is said of the file. */
  readonly properties: SentProperties;
}

type Checked = Exclude<keyof PlanRequest, 'properties'>;

export const { mostParts } = directPartLimits;
/** Two digests for each part, and a name. */
export const maxPlanBytes = 1024 * 1024;

const sha256 = /^[0-9a-f]{64}$/;
const md5 = /^[A-Za-z0-9+/]{21}[AQgw]==$/;
const crc32c = /^[A-Za-z0-9+/]{5}[AQgw]==$/;
const crc64nvme = /^[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=$/;

const base64 = (pattern: RegExp, description: string): Schema => ({
  type: 'string',
  pattern: pattern.source,
  description,
});
const ofEach = (pattern: RegExp, description: string): Schema => ({
  type: 'array',
  maxItems: mostParts,
  items: base64(pattern, description),
});

export const planSchema: Readonly<Record<Checked | PropertyName, Schema>> = {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: maxOriginalCharacters,
    description: 'The original name of the file',
  },
  size: { type: 'integer', minimum: 0, description: 'Bytes. What is sent must have this size' },
  contentType: { type: 'string', description: 'Its media type; absent: by the name' },
  sha256: { type: 'string', pattern: sha256.source, description: 'SHA-256 in lower-case hexadecimal digits' },
  crc32c: base64(crc32c, 'CRC-32C of the file: four bytes in base64'),
  crc64nvme: base64(
    crc64nvme,
    'CRC-64/NVME of the file, eight bytes in base64: compared if the store has it',
  ),
  partBytes: {
    type: 'integer',
    minimum: 1,
    description: 'The wished size of parts: the answer says the one to use',
  },
  partMd5: ofEach(md5, 'MD5 of a part in base64: the store refuses other bytes'),
  partCrc32c: ofEach(crc32c, 'CRC-32C of a part in base64'),
  folder: { type: 'string', description: 'The id of a folder, or `new` for one that this file makes' },
  path: { type: 'string', description: 'Where the file is below the folder; absent: its name' },
  expiresIn: {
    type: 'integer',
    minimum: 1,
    maximum: longestExpiry,
    description: 'Seconds after which the file is gone, from its completion on',
  },
};

const text = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);
const whole = (least: number) => (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= least;
function list(pattern: RegExp): (value: unknown) => boolean {
  const isDigest = text(pattern);
  return (value) => Array.isArray(value) && value.length <= mostParts && value.every(isDigest);
}
// halves of surrogate pairs can't be written as UTF-8
const isName = (value: unknown) => typeof value === 'string' && value !== '' && value.isWellFormed();

/** What each property should be; all but the first two may be left out. */
const checks: readonly (readonly [name: Checked, isGood: (value: unknown) => boolean, should: string])[] = [
  ['name', isName, 'the name of the file, in Unicode'],
  ['size', whole(0), 'a whole number of bytes'],
  ['contentType', text(/^[\x20-\x7e]{1,300}$/), 'a media type'],
  ['sha256', text(sha256), '64 hexadecimal digits in lower case'],
  ['crc32c', text(crc32c), 'four bytes in base64'],
  ['crc64nvme', text(crc64nvme), 'eight bytes in base64'],
  ['partBytes', whole(1), 'a whole number of bytes from 1'],
  ['partMd5', list(md5), `a list of at most ${mostParts} times 16 bytes in base64`],
  ['partCrc32c', list(crc32c), `a list of at most ${mostParts} times four bytes in base64`],
];

/** Throws 400 unless it is a plan. */
export function readPlanRequest(body: unknown): PlanRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalidBody('The body should be a JSON object with name and size');
  const sent = body as Record<string, unknown>;
  const problems: string[] = [];
  for (const [name, isGood, should] of checks) {
    const value = sent[name];
    const mayBeAbsent = name !== 'name' && name !== 'size';
    if (!(value === undefined && mayBeAbsent) && !isGood(value)) problems.push(`${name} should be ${should}`);
  }
  // a misspelled digest would check nothing
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(planSchema, name));
  for (const name of unknown.slice(0, 3))
    problems.push(`${JSON.stringify(name.slice(0, 80))} is not a property of a plan`);
  if (problems.length > 0) throw invalidBody(problems);
  const properties = readProperties((name) => sent[name]);
  return { ...(sent as unknown as Omit<PlanRequest, 'properties'>), properties };
}

/** A part as the client got it from the store. */
export interface SentPart {
  readonly number: number;
  /** With or without quotes. */
  readonly etag: string;
  readonly crc32c?: string;
}

/** 10,000 parts with an ETag and a CRC-32C each. */
export const maxCompletionBytes = 2 * 1024 * 1024;

export const sentPartSchema: Readonly<Record<keyof SentPart, Schema>> = {
  number: { type: 'integer', minimum: 1, maximum: mostParts },
  etag: { type: 'string', minLength: 1, maxLength: 200, description: 'As the store answered it' },
  crc32c: base64(crc32c, 'CRC-32C of the part: four bytes in base64'),
};

/** The parts of a completion; null: the list of the store decides. Throws 400. */
export function readSentParts(body: unknown): readonly SentPart[] | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalidBody('The body should be empty, or a JSON object with parts');
  const { parts, ...others } = body as { readonly parts?: unknown };
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalidBody([`${JSON.stringify(other.slice(0, 80))} is not a property of a completion`]);
  if (parts === undefined) return null;
  if (!Array.isArray(parts) || parts.length > mostParts)
    throw invalidBody([`parts should be a list of at most ${mostParts} parts`]);
  const seen = new Set<number>();
  for (const part of parts) {
    const problem = partProblem(part, seen);
    if (problem !== null) throw invalidBody([problem]);
  }
  return parts as SentPart[];
}

/** @param seen numbers of the parts before */
function partProblem(part: unknown, seen: Set<number>): string | null {
  const { number, etag, crc32c: sum } = (part ?? {}) as Partial<Record<keyof SentPart, unknown>>;
  if (!Number.isInteger(number) || (number as number) < 1 || (number as number) > mostParts)
    return `The number of a part should be from 1 to ${mostParts}`;
  if (typeof etag !== 'string' || etag === '' || etag.length > 200)
    return `The etag of part ${number} should be the one that the store answered`;
  if (sum !== undefined && (typeof sum !== 'string' || !crc32c.test(sum)))
    return `The crc32c of part ${number} should be four bytes in base64`;
  if (seen.has(number as number)) return `Part ${number} is listed twice`;
  seen.add(number as number);
  return null;
}
