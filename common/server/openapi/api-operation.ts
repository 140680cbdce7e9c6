import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import type { Need } from '#kernel/grants.ts';
import { type Schema, string } from '#kernel/json/schema.ts';

/** The token that it takes. `optional`: with a token or without. `metrics`: with a token of its own, where one is set. */
export type Access = 'token' | 'none' | 'optional' | 'metrics';

export interface ApiParameter {
  readonly name: string;
  /** Parameters of a path are made from the path itself. */
  readonly in: 'query' | 'header';
  readonly description: string;
  readonly required?: boolean;
  /** Schema of the text. An object: its properties are parameters of their own. */
  readonly schema?: Schema;
  /** Schema of the JSON in the text; instead of `schema`. */
  readonly json?: Schema;
  readonly example?: unknown;
}

export interface ApiMedia {
  readonly schema: Schema;
  readonly example?: unknown;
  /** Headers of a form's parts, by the names of the parts. */
  readonly partHeaders?: Readonly<Record<string, Readonly<Record<string, ApiHeader>>>>;
}

export interface ApiHeader {
  readonly description: string;
  readonly schema: Schema;
  /** Absent: it is there in some answers only. */
  readonly always?: true;
}

export interface ApiAnswer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, ApiHeader>>;
  /** Bodies by media type; absent: no body. */
  readonly content?: Readonly<Record<string, ApiMedia>>;
}

/** How the description of the API shows a route. Method and path are the route's. */
export interface ApiOperation {
  /** Unique among all routes. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** What the token must be granted, and what it touches with it; null: it takes none. */
  readonly needs: Need | null;
  readonly parameters?: readonly ApiParameter[];
  /** Descriptions of the parameters of the path, by name; absent for slugs of projects and spaces. */
  readonly pathParameters?: Readonly<
    Record<string, { readonly description: string; readonly schema: Schema }>
  >;
  readonly body?: { readonly description: string; readonly content: Readonly<Record<string, ApiMedia>> };
  /** The answers of a success, by status. */
  readonly answers: Readonly<Record<number, ApiAnswer>>;
  readonly errors: readonly ErrorCode[];
  /** Commands to paste into a shell that has an access token in TOKEN. @param base address without trailing slash */
  readonly sample?: (base: string) => string;
  /** GET only: there is a HEAD of its own to be shown, with answers of these statuses. */
  readonly head?: { readonly summary: string; readonly statuses: readonly number[] };
}

/** The part of a route that the description of the API takes. */
export interface DescribedRoute {
  readonly method: string;
  readonly path: string;
  readonly api?: ApiOperation;
}

/** Errors of every route that needs HTTPS. */
export const doorErrors: readonly ErrorCode[] = [
  'malformed_request',
  'headers_too_large',
  'https_required',
  'unknown_host',
  'rate_limited',
  'shutting_down',
];

/** Errors of an account's requests to the database, which knows the account of a token. */
export const accountErrors: readonly ErrorCode[] = [
  ...doorErrors,
  'internal_error',
  'outcome_unknown',
  'overloaded',
  'deadline_exceeded',
  'not_ready',
  'storage_full',
  'unauthorized',
  'not_granted',
];

export const bodyErrors: readonly ErrorCode[] = [
  ...(['invalid_body', 'payload_too_large', 'request_timeout', 'unsupported_media_type'] as const),
];

/** A header that each such answer has. */
export function header(description: string): ApiHeader {
  return { description, schema: string, always: true };
}

export const noStore: Readonly<Record<string, ApiHeader>> = { 'Cache-Control': header('no-store') };

export function queryParameter(name: string, description: string, schema: Schema = string): ApiParameter {
  return { name, in: 'query', description, schema };
}

export function headerParameter(name: string, description: string, schema: Schema = string): ApiParameter {
  return { name, in: 'header', description, schema };
}

/** JSON that nobody may keep. */
export function jsonAnswer(description: string, schema: Schema): ApiAnswer {
  return { description, headers: noStore, content: jsonContent(schema) };
}

export function jsonContent(schema: Schema, example?: unknown): Readonly<Record<string, ApiMedia>> {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
}
