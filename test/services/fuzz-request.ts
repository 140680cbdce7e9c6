import fc from 'fast-check';
import type { JsonObject } from '#server/openapi/components.ts';
import { strangeText } from './hostile-arbitraries.ts';
import { type FoundOperation, operationsOf } from './openapi-document.ts';
import { valuesOf } from './schema-arbitrary.ts';

/** A request that was made from the description of an operation, and may be bent. */
export interface FuzzRequest {
  readonly operation: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Makes requests for every operation of a document alike. */
export function fuzzRequests(document: JsonObject, token: string): fc.Arbitrary<FuzzRequest> {
  // what only closes the loop: the document itself, and half a megabyte of script
  const left = new Set(['getDocsFile', 'getMetrics']);
  const found = operationsOf(document).filter(({ operation }) => !left.has(operation.operationId));
  return fc.oneof(...found.map((operation) => requestsOf(operation, document, token)));
}

/** What a request says where the document has a place for it: as it should be, or not. */
function mostly(good: fc.Arbitrary<string>, weight = 12): fc.Arbitrary<string> {
  return fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: strangeText });
}

function requestsOf(
  { path, method, operation }: FoundOperation,
  document: JsonObject,
  token: string,
): fc.Arbitrary<FuzzRequest> {
  const parameters: Parameter[] = operation.parameters ?? [];
  const pathValues = fc.record(
    Object.fromEntries(
      parameters.filter(({ in: place }) => place === 'path').map(({ name }) => [name, pathValue(name)]),
    ),
  );
  const query = fc.tuple(
    ...parameters
      .filter(({ in: place }) => place === 'query')
      .map((parameter) => pairsOf(parameter, document)),
  );
  const headers = fc.tuple(
    ...parameters
      .filter(({ in: place }) => place === 'header')
      .map((parameter) => headerOf(parameter, document)),
  );
  return fc
    .record({
      pathValues,
      query,
      headers,
      authorization: fc.oneof(
        { weight: 20, arbitrary: fc.constant(`Bearer ${token}`) },
        { weight: 1, arbitrary: strangeText },
      ),
      accept: fc.constantFrom('*/*', '*/*', 'application/problem+json', 'application/json'),
      body: bodyOf(operation, document),
      method: fc.oneof(
        { weight: 40, arbitrary: fc.constant(method) },
        { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE') },
      ),
    })
    .map((made) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(made.pathValues[name] ?? ''));
      const pairs = made.query.flat().map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
      const [type, body] = made.body ?? [null, null];
      return {
        operation: operation.operationId,
        method: made.method,
        target: pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`,
        headers: [
          ['authorization', made.authorization],
          ['accept', made.accept],
          ...(type === null ? [] : [['content-type', type] as const]),
          ...made.headers.flat(),
        ],
        body,
      };
    });
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: JSON Schema
  readonly schema?: any;
}

function pathValue(name: string): fc.Arbitrary<string> {
  // few of them, so that requests meet
  const usual = name === 'space' ? ['people', 'user', 'things', 'keys'] : ['demo'];
  return mostly(fc.constantFrom(...usual), 30);
}

/** `encodeURIComponent` without its exception for half a surrogate pair. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

type Pairs = readonly (readonly [string, string])[];

function maybe(parameter: Parameter, pairs: fc.Arbitrary<Pairs>): fc.Arbitrary<Pairs> {
  const weight = parameter.required === true || parameter.name === 'structure' ? 20 : 1;
  return fc.oneof({ weight, arbitrary: pairs }, { weight: 1, arbitrary: fc.constant<Pairs>([]) });
}

function pairsOf(parameter: Parameter, document: JsonObject): fc.Arbitrary<Pairs> {
  const { name, schema, example } = parameter;
  const values = valuesOf(schema, document);
  const pairs = values.chain((value): fc.Arbitrary<Pairs> => {
    if (Array.isArray(value))
      return fc
        .tuple(...value.map((one) => mostly(fc.constant(String(one)))))
        .map((all) => all.map((one) => [name, one] as const));
    if (typeof value === 'object' && value !== null)
      return fc.constant(Object.entries(value).map(([k, v]) => [k, String(v)] as const));
    return mostly(fc.constant(String(value))).map((one) => [[name, one] as const]);
  });
  const shown: Pairs =
    typeof example !== 'object' || example === null
      ? [[name, String(example)]]
      : Array.isArray(example)
        ? example.map((one) => [name, String(one)] as const)
        : Object.entries(example).map(([k, v]) => [k, String(v)] as const);
  return maybe(parameter, example === undefined ? pairs : fc.oneof(fc.constant(shown), pairs));
}

function headerOf(parameter: Parameter, document: JsonObject): fc.Arbitrary<Pairs> {
  const { name, schema, example = '{}' } = parameter;
  const { contentSchema } = schema;
  const values =
    contentSchema === undefined
      ? valuesOf(schema, document).map(String)
      : fc.oneof(
          // mostly what fits the path, or there would be few records
          { weight: 8, arbitrary: fc.constant(String(example)) },
          { weight: 2, arbitrary: valuesOf(contentSchema, document).map((value) => JSON.stringify(value)) },
        );
  return maybe(
    parameter,
    mostly(values, 30).map((value) => [[name, value] as const]),
  );
}

const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--b--\r\n';

function bodyOf(
  operation: FoundOperation['operation'],
  document: JsonObject,
): fc.Arbitrary<readonly [type: string, body: string] | null> {
  const content = operation.requestBody?.content;
  if (content === undefined) return fc.constant(null);
  const json = content['application/json'];
  const type = mostly(
    fc.constant(json === undefined ? 'multipart/form-data; boundary=b' : 'application/json'),
    30,
  );
  const good =
    json === undefined
      ? fc.constant(form)
      : fc.oneof(
          fc.constant(JSON.stringify(json.example ?? {})),
          valuesOf(json.schema, document).map((value) => JSON.stringify(value)),
        );
  const bodies = fc.tuple(type, mostly(good));
  const ndjson = 'application/x-ndjson';
  if (content[ndjson] === undefined) return fc.option(bodies, { freq: 20 });
  const lines = valuesOf(json.schema, document).map((value) =>
    [value]
      .flat()
      .map((record) => JSON.stringify(record))
      .join('\n'),
  );
  return fc.option(fc.oneof(bodies, fc.tuple(mostly(fc.constant(ndjson), 30), mostly(lines))), { freq: 20 });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are meant
const control = /[\0-\x08\x0a-\x1f]/g;

/**
 * The bytes on the wire. Texts are sent as UTF-8. Control characters are left out of headers: some end a line, and the
 * others the native parser does not answer (docs/decisions/001-uwebsockets-from-npm.md).
 */
export function requestBytes({ method, target, headers, body }: FuzzRequest): Uint8Array {
  const bytes = body === null ? Buffer.alloc(0) : Buffer.from(body);
  const lines = headers.map(([name, value]) => `${name}: ${value.replace(control, '')}`);
  const length = body === null && method !== 'POST' ? [] : [`content-length: ${bytes.byteLength}`];
  const head = [`${method} ${target} HTTP/1.1`, 'host: test', ...lines, ...length, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head), bytes]);
}
