import { malformedRequest } from '#kernel/errors/catalogue.ts';
import type { Schema } from '#kernel/json/schema.ts';
import type { ApiAnswer, ApiParameter } from './api-operation.ts';
import type { JsonObject } from './components.ts';
import { asOpenApi30 } from './openapi-30.ts';

/** The part of a request that decides the version. */
interface DocumentRequest {
  readonly query: readonly (readonly [name: string, value: string])[];
  header(name: string): string | undefined;
}

export type OpenApiVersion = '3.0' | '3.1';

const mediaType = 'application/vnd.oai.openapi+json';

/** The query parameter for the version of OpenAPI. */
export const versionParameter: ApiParameter = {
  name: 'version',
  in: 'query',
  description: `Of OpenAPI; also as \`Accept: ${mediaType};version=3.1\`. Absent: 3.0`,
  schema: { type: 'string', enum: ['3.0', '3.0.0', '3.1', '3.1.0'] },
};

const anyDocument: Schema = {
  type: 'object',
  required: ['openapi', 'info', 'paths'],
  additionalProperties: true,
};

export const openApiAnswers: Readonly<Record<number, ApiAnswer>> = {
  200: {
    description: 'The document',
    content: { 'application/json': { schema: anyDocument }, [mediaType]: { schema: anyDocument } },
  },
};

/** Throws 400 for an unknown version. */
export function wantedVersion(request: DocumentRequest): OpenApiVersion {
  const given = request.query.filter(([name]) => name === 'version').map(([, value]) => value);
  if (given.length === 0) return acceptedVersion(request.header('accept')) ?? '3.0';
  const [version = ''] = given;
  if (given.length > 1 || !/^3\.[01](?:\.0)?$/.test(version)) {
    throw malformedRequest('The version of OpenAPI should be 3.0 or 3.1');
  }
  return version.startsWith('3.0') ? '3.0' : '3.1';
}

/** The version in an Accept header; null: the header does not name the type. */
function acceptedVersion(accept = ''): OpenApiVersion | null {
  const ranges = accept
    .toLowerCase()
    .split(',')
    .filter((range) => range.includes(mediaType));
  if (ranges.length === 0) return null;
  return ranges.some((range) => /;\s*version="?3\.1/.test(range)) ? '3.1' : '3.0';
}

/** @param text of the document of that version */
export function openApiAnswer(
  request: Pick<DocumentRequest, 'header'>,
  version: OpenApiVersion,
  text: string,
): { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const named = request.header('accept')?.toLowerCase().includes(mediaType) === true;
  const type = named ? `${mediaType};version=${version}` : 'application/json; charset=utf-8';
  return {
    status: 200,
    headers: { 'content-type': type, 'cache-control': 'no-cache', vary: 'Accept' },
    body: text,
  };
}

export function documentText(document: JsonObject, version: OpenApiVersion): string {
  return JSON.stringify(version === '3.1' ? document : asOpenApi30(document));
}
