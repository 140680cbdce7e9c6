import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ApiError } from '#kernel/errors/api-error.ts';
import { eventStream } from '#server/http/event-stream.ts';
import type { Route } from '#server/http/http-types.ts';
import { Router } from '#server/http/router.ts';
import type { JsonObject } from '#server/openapi/components.ts';
import {
  consoleTable,
  documentOf,
  gatewayTable,
  inlined,
  operationsOf,
  processRoutes,
  queryTable,
} from './openapi-document.ts';

export interface SeenAnswer {
  readonly method: string;
  /** Without the query string. */
  readonly path: string;
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: not known. */
  readonly body: string | null;
}

interface Described {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the document
  readonly responses: Record<string, any>;
  readonly codes: readonly string[];
  /** JSON pointer to `responses`. */
  readonly pointer: string;
}

/** What any address may answer before it is looked at what is there. */
const beforeRouting = ['malformed_request', 'unknown_host', 'shutting_down', 'not_ready'];

/** Holds answers against the description of the API. */
export class Contract {
  /** `<operation> <status>` of every answer that was checked. */
  readonly seen = new Set<string>();
  readonly #router: Router;
  readonly #operations = new Map<string, Described>();
  // that the document is good is a test of its own
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: true, validateSchema: false, meta: false });
  readonly #validators = new Map<string, ValidateFunction>();

  /** @param document OpenAPI 3.1 */
  constructor(shared: JsonObject) {
    const document = inlined(shared);
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(document, 'document');
    const routes: Route[] = [];
    for (const { path, method, operation } of operationsOf(document)) {
      // a parameter of this name is all the rest of a path
      const pattern = path.replace(/\{(\w+)\}/g, ':$1').replace(/:rest$/, ':rest*');
      const key = method === 'QUERY' ? 'x-query' : method.toLowerCase();
      this.#operations.set(`${method} ${pattern}`, {
        id: operation.operationId,
        responses: operation.responses,
        codes: operation['x-error-codes'],
        pointer: `document#/paths/${escaped(path)}/${key}/responses`,
      });
      if (method === 'HEAD') continue;
      routes.push({ method: method as Route['method'], path: pattern, handler: () => ({ status: 500 }) });
    }
    this.#router = new Router(routes);
  }

  /** Says how an answer differs from what the document says; null when it does not. */
  problemOf(answer: SeenAnswer): string | null {
    const problem = this.#difference(answer);
    if (problem === null) return null;
    const { method, path, status, headers, body } = answer;
    const shown = `${method} ${path.slice(0, 200)}: ${status} ${JSON.stringify(headers)} ${body?.slice(0, 500)}`;
    return `${problem}\n  ${shown}`;
  }

  #difference(answer: SeenAnswer): string | null {
    const { method, path, status } = answer;
    // for pages of the dashboard alone
    if (/^\/_(?:console|oidc)_/.test(path)) return null;
    let route: Route;
    try {
      if (method === 'OPTIONS') return this.#options(answer);
      route = this.#router.match(method, path).route;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return refusalProblem(answer, error);
    }
    const head = method === 'HEAD' ? this.#operations.get(`HEAD ${route.path}`) : undefined;
    const described = head ?? (this.#operations.get(`${route.method} ${route.path}`) as Described);
    const response = described.responses[status];
    if (response === undefined) return `the status is not documented for ${described.id}`;
    this.seen.add(`${described.id} ${status}`);
    for (const [name, header] of Object.entries<{ required?: boolean }>(response.headers)) {
      const value = answer.headers[name.toLowerCase()];
      if (value === undefined && header.required !== true) continue;
      if (value === undefined) return `the header ${name} is missing`;
      const valid = this.#validator(`${described.pointer}/${status}/headers/${escaped(name)}/schema`);
      if (!valid(value)) return `the header ${name} is not as documented`;
    }
    if (method === 'HEAD') return null;
    // generated clients would take a find for one that may answer either: the description says it in words
    const isLive = answer.headers['content-type']?.startsWith(eventStream) === true;
    if (isLive && described.codes.includes('too_many_streams')) return null;
    const problem = this.#bodyProblem(answer, `${described.pointer}/${status}/content`, response.content);
    return problem ?? (status < 400 ? null : codeProblem(answer, described));
  }

  #options(answer: SeenAnswer): string | null {
    if (answer.status !== 204) return refusalProblem(answer, null);
    return answer.headers.allow === undefined ? 'OPTIONS without Allow' : null;
  }

  #bodyProblem({ status, headers, body }: SeenAnswer, pointer: string, content: JsonObject | undefined) {
    const type = headers['content-type']?.split(';')[0]?.trim();
    if (content === undefined) {
      return body === null || body === '' ? null : 'a body that is not documented';
    }
    // what is begun may be complete, and then it is shown; a POST may stand for HEAD
    const mayBeBare = status === 201 || headers['upload-complete'] === '?0';
    if (type === undefined) return mayBeBare && !body ? null : 'no content type';
    if (content[type] === undefined) return '*/*' in content ? null : `the type ${type} is not documented`;
    if (body === null || !/[/+]json$/.test(type)) return null;
    const valid = this.#validator(`${pointer}/${escaped(type)}/schema`);
    let json: unknown;
    try {
      json = JSON.parse(body);
    } catch {
      return 'the body is no JSON';
    }
    return valid(json) ? null : `the body is not as documented: ${this.#ajv.errorsText(valid.errors)}`;
  }

  #validator(pointer: string): ValidateFunction {
    const known = this.#validators.get(pointer);
    if (known !== undefined) return known;
    const made = this.#ajv.getSchema(pointer);
    if (made === undefined) throw new Error(`the document has no ${pointer}`);
    this.#validators.set(pointer, made);
    return made;
  }
}

function codeProblem({ body }: SeenAnswer, { id, codes }: Described): string | null {
  if (body === null) return null;
  const { code } = JSON.parse(body) as { readonly code: string };
  return codes.includes(code) ? null : `the code ${code} is not as documented for ${id}`;
}

/** What is at no operation is answered by a refusal. @param expected null: any that comes before routing, or 404 */
function refusalProblem({ status, headers, body }: SeenAnswer, expected: ApiError | null): string | null {
  if (headers['x-request-id'] === undefined) return 'no X-Request-Id';
  if (body === null || body === '') return null;
  const { code } = JSON.parse(body) as { code?: string };
  if (code === (expected?.code ?? 'not_found') || beforeRouting.includes(code ?? '')) {
    return status === 405 && headers.allow === undefined ? '405 without Allow' : null;
  }
  return `${expected?.code ?? 'a refusal'} was expected`;
}

/** RFC 6901, within a URI. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function once(tables: () => readonly Route[]): () => Promise<Contract> {
  let made: Promise<Contract> | null = null;
  return () => {
    made ??= documentOf(processRoutes(tables())).then((document) => new Contract(document));
    return made;
  };
}

/** Of a process that serves everything. One for a test process. */
export const wholeContract = once(() => [...gatewayTable(), ...queryTable(), ...consoleTable()]);
/** Of the query service alone. */
export const queryContract = once(queryTable);
