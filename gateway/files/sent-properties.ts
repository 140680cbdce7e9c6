import { longestExpiry } from '#kernel/config/longest-expiry.ts';
import { invalidOptions } from '#kernel/errors/catalogue.ts';
import { isUuid } from '#kernel/ids/is-uuid.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { queryParameter } from '#server/openapi/api-operation.ts';
import { pathProblem } from './folder-path.ts';

/** What a client may say of a new file besides its name and type. */
export interface SentProperties {
  /** The id of a folder, or `new` for one that this file makes. */
  readonly folder?: string | undefined;
  /** Below the folder; absent: the name of the file. */
  readonly path?: string | undefined;
  /** Seconds that the file stays. */
  readonly expiresIn?: number | undefined;
}

export const propertyNames = ['folder', 'path', 'expiresIn'] as const satisfies (keyof SentProperties)[];
export type PropertyName = (typeof propertyNames)[number];

export const propertyParameters = [
  queryParameter('folder', 'The id of a folder, or `new` for one that this file makes'),
  queryParameter('path', 'Where the file is below the folder; absent: its name'),
  queryParameter('expiresIn', `Seconds after which the file is gone, from 1 to ${longestExpiry}`),
];

const noProperties: SentProperties = {};

/**
 * Reads the properties that are there, from wherever they were sent. Throws 400.
 * @param value undefined: not sent
 */
export function readProperties(value: (name: PropertyName) => unknown): SentProperties {
  const problems: string[] = [];
  const text = (name: PropertyName, check: (text: string) => string | null): string | undefined => {
    const sent = value(name);
    if (sent === undefined) return undefined;
    const problem = typeof sent === 'string' ? check(sent) : 'should be a text';
    if (problem !== null) problems.push(`${name} ${problem}`);
    return sent as string;
  };
  const folder = text('folder', (id) =>
    id === 'new' || isUuid(id) ? null : 'should be the id of a folder, or new',
  );
  const path = text('path', pathProblem);
  if (path !== undefined && folder === undefined) problems.push('path needs a folder');
  const expiry = value('expiresIn');
  const expiresIn = expiry === undefined ? undefined : secondsOf(expiry);
  if (Number.isNaN(expiresIn))
    problems.push(`expiresIn should be a whole number of seconds from 1 to ${longestExpiry}`);
  if (problems.length > 0) throw invalidOptions(problems);
  return {
    ...(folder === undefined ? {} : { folder }),
    ...(path === undefined ? {} : { path }),
    ...(expiresIn === undefined ? {} : { expiresIn }),
  };
}

/** Those in the query. */
export function propertiesOfQuery({ query }: Pick<HttpRequest, 'query'>): SentProperties {
  if (query.length === 0) return noProperties;
  return readProperties((wanted) => query.find(([name]) => name === wanted)?.[1]);
}

/** NaN: it is no such number. */
function secondsOf(sent: unknown): number {
  const seconds = typeof sent === 'string' && /^\d{1,10}$/.test(sent) ? Number(sent) : sent;
  const isGood =
    typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 1 && seconds <= longestExpiry;
  return isGood ? seconds : Number.NaN;
}
