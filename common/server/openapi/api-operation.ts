import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import type { Need } from '#kernel/grants.ts';
import { type Schema, string } from '#kernel/json/schema.ts';

/** The token of an operation. `optional`: with or without a token. `metrics`: METRICS_TOKEN, if it is set. */
export type Access = 'token' | 'none' | 'optional' | 'metrics';

export interface ApiParameter {
  readonly name: string;
  /** Path parameters are derived from the path. */
  readonly in: 'query' | 'header';
  readonly description: string;
  readonly required?: boolean;
  /** Schema of the text. The properties of an object are separate parameters. */
  readonly schema?: Schema;
  /** Schema of the JSON that the text is; instead of `schema`. The example is JSON as well. */
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
  /** Absent: only some answers have the header. */
  readonly always?: true;
}

export interface ApiAnswer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, ApiHeader>>;
  /** Bodies by media type; absent: no body. */
  readonly content?: Readonly<Record<string, ApiMedia>>;
}

/** The description of a route. Method and path are the route's. */
export interface ApiOperation {
  /** A verb that no common language reserves. Unique among all routes, even in lower case. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** The grant that the token needs, and what the operation touches; null: none. */
  readonly needs: Need | null;
  readonly parameters?: readonly ApiParameter[];
  /** Descriptions of the path parameters, by name; slugs of projects and spaces need none. */
  readonly pathParameters?: Readonly<
    Record<string, { readonly description: string; readonly schema: Schema }>
  >;
  readonly body?: {
    readonly description: string;
    readonly content: Readonly<Record<string, ApiMedia>>;
    /** A request may have none. */
    readonly optional?: true;
  };
  /** The success answers, by status. */
  readonly answers: Readonly<Record<number, ApiAnswer>>;
  readonly errors: readonly ErrorCode[];
  /** Commands to paste into a shell that has an access token in TOKEN. @param base address without trailing slash */
  readonly sample?: (base: string) => string;
  /** GET only: also describe HEAD as an operation with its own id, and with answers of these statuses. */
  readonly head?: { readonly id: string; readonly summary: string; readonly statuses: readonly number[] };
}

/** The part of a route that the description needs. */
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

/** Errors of operations that use the database, as every operation with a token does. */
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

/** A header that every such answer has. */
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

/** JSON that no cache may store. */
export function jsonAnswer(description: string, schema: Schema): ApiAnswer {
  return { description, headers: noStore, content: jsonContent(schema) };
}

export function jsonContent(schema: Schema, example?: unknown): Readonly<Record<string, ApiMedia>> {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
}
