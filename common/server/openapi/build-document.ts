import { slugPattern } from '#kernel/ids/slug.ts';
import { nameSchema } from '#kernel/json/name-schema.ts';
import type { Schema } from '#kernel/json/schema.ts';
import type {
  ApiAnswer,
  ApiHeader,
  ApiMedia,
  ApiOperation,
  ApiParameter,
  DescribedRoute,
} from './api-operation.ts';
import { Components, type Json, type JsonObject } from './components.ts';
import { errorAnswer, errorStatuses } from './error-answers.ts';

export interface DocumentInfo {
  readonly title: string;
  readonly description: string;
  /** Base URL of the server for browsers: absolute, or `/`. */
  readonly server: string;
  /** Base URL for commands to paste: absolute, without trailing slash. */
  readonly base: string;
  /** Path parameters with a fixed value, such as the project in a space's own document. */
  readonly fixed?: Readonly<Record<string, string>>;
}

/** The version of the description: the interface itself has none (interface.md section 9). */
const apiVersion = '1.0.0';

const securitySchemes: JsonObject = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An access token, as `npm run token` makes them. It must not be in code that runs at clients.',
  },
  metricsToken: { type: 'http', scheme: 'bearer', description: 'METRICS_TOKEN, where that is set' },
};

const requestId: ApiHeader = {
  description: 'Names the request, in logs too: the one that it brought, or a new one',
  schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{8,64}$' },
  always: true,
};

/** Describes routes as OpenAPI 3.1. */
export function buildDocument(info: DocumentInfo, routes: readonly DescribedRoute[]): JsonObject {
  const paths: Record<string, Record<string, Json>> = {};
  const components = new Components();
  const tags = new Set<string>();
  for (const { method, path, api } of routes) {
    if (api === undefined) continue;
    tags.add(api.tag);
    const address = addressOf(path, info);
    const item = paths[address] ?? {};
    paths[address] = item;
    item[methodKey(method)] = operationObject(api, path, info, components);
    if (api.head !== undefined) item.head = operationObject(headOf(api, api.head), path, info, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: info.title,
      description: info.description,
      version: apiVersion,
      license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0.html' },
    },
    servers: [{ url: info.server }],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: { ...components.objects(), securitySchemes },
  };
}

/** OpenAPI before 3.2 does not know the method QUERY. */
function methodKey(method: string): string {
  return method === 'QUERY' ? 'x-query' : method.toLowerCase();
}

function addressOf(path: string, { fixed = {} }: DocumentInfo): string {
  return path.replace(/:(\w+)\*?/g, (_, name: string) => {
    const value = fixed[name];
    return value === undefined ? `{${name}}` : encodeURIComponent(value);
  });
}

function operationObject(
  api: ApiOperation,
  path: string,
  info: DocumentInfo,
  components: Components,
): JsonObject {
  const parameters = [
    ...pathParameters(api, path, info, components),
    ...(api.parameters ?? []).map((parameter) => parameterObject(parameter, components)),
  ].map((parameter) => components.shared('parameters', `${parameter.in}.${parameter.name}`, parameter));
  const errors = errorStatuses(api.errors).map((status): [string, Json] => {
    const answer = answerObject(errorAnswer(status), components);
    return [String(status), components.shared('responses', `Error${status}`, answer)];
  });
  return {
    operationId: api.id,
    tags: [api.tag],
    summary: api.summary,
    description: api.description,
    security: security[api.access],
    'x-needs': api.needs?.grant,
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: api.body && {
      description: api.body.description,
      required: api.body.optional !== true,
      content: contentObject(api.body.content, components),
    },
    responses: {
      ...mapValues(api.answers, (answer) => answerObject(answer, components)),
      ...Object.fromEntries(errors),
    },
    // which codes of each status this operation has
    'x-error-codes': [...new Set(api.errors)].sort(),
    'x-codeSamples': api.sample && [{ lang: 'Shell', label: 'curl', source: api.sample(info.base) }],
  };
}

const security: Readonly<Record<ApiOperation['access'], Json>> = {
  token: [{ accessToken: [] }],
  optional: [{}, { accessToken: [] }],
  metrics: [{}, { metricsToken: [] }],
  none: [],
};

const slugs: Readonly<Record<string, { description: string; schema: Schema; example: string }>> = {
  project: {
    description: 'Slug of the project',
    schema: { type: 'string', pattern: slugPattern.source },
    example: 'demo',
  },
  space: {
    description: 'Slug of the record space: any text without control characters',
    schema: { ...nameSchema, not: { enum: ['.', '..', 'function'] } },
    example: 'people',
  },
};

function pathParameters(
  api: ApiOperation,
  path: string,
  { fixed = {} }: DocumentInfo,
  components: Components,
): JsonObject[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  return names
    .filter((name) => fixed[name] === undefined)
    .map((name) => {
      const known = api.pathParameters?.[name] ?? slugs[name];
      if (known === undefined) throw new Error(`${api.id} has no description of {${name}}`);
      const { schema, ...more } = known;
      return { name, in: 'path', required: true, ...more, schema: components.schema(schema) };
    });
}

function parameterObject(parameter: ApiParameter, components: Components): JsonObject {
  const { schema, json, example, required = false, ...rest } = parameter;
  if (json !== undefined) return { ...rest, required, ...jsonText(json, example, components) };
  const style = schema?.type === 'object' || schema?.type === 'array' ? { style: 'form', explode: true } : {};
  return {
    ...rest,
    required,
    ...style,
    schema: components.schema(schema as Schema),
    example: example as Json,
  };
}

/** JSON in a header or a query as the text that is sent: few generators know `content` of a parameter. */
function jsonText(json: Schema, example: unknown, components: Components): JsonObject {
  const schema: Schema = { type: 'string', contentMediaType: 'application/json', contentSchema: json };
  return {
    schema: components.schema(schema),
    example: example === undefined ? example : JSON.stringify(example),
  };
}

function contentObject(content: Readonly<Record<string, ApiMedia>>, components: Components): JsonObject {
  return mapValues(content, ({ schema, example, partHeaders }) => ({
    schema: components.schema(schema),
    example: example as Json,
    encoding:
      partHeaders && mapValues(partHeaders, (headers) => ({ headers: headersObject(headers, components) })),
  }));
}

function answerObject(answer: ApiAnswer, components: Components): JsonObject {
  const { description, headers, content } = answer;
  return {
    description,
    headers: headersObject({ 'X-Request-Id': requestId, ...headers }, components),
    content: content && contentObject(content, components),
  };
}

function headersObject(headers: Readonly<Record<string, ApiHeader>>, components: Components): JsonObject {
  return mapValues(headers, ({ description, schema, always }, name) =>
    components.shared('headers', name, { description, required: always, schema: components.schema(schema) }),
  );
}

function headOf(api: ApiOperation, head: NonNullable<ApiOperation['head']>): ApiOperation {
  const { sample: _, description: __, ...rest } = api;
  const answers = Object.fromEntries(
    Object.entries(api.answers)
      .filter(([status]) => head.statuses.includes(Number(status)))
      .map(([status, { content: ___, ...withoutBody }]) => [status, withoutBody]),
  );
  // RFC 9110 section 14.2: Range is only defined for GET
  const errors = api.errors.filter((code) => code !== 'range_not_satisfiable');
  return { ...rest, errors, id: head.id, summary: head.summary, answers };
}

function mapValues<Value>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value, key: string) => Json,
): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));
}
