import { Validator } from '@seriousme/openapi-schema-validator';
import type { Authenticate } from '#auth/authenticate.ts';
import { consoleRoutes } from '#console/routes.ts';
import { webhookRoutes } from '#events/webhook-routes.ts';
import { gatewayRoutes } from '#gateway/routes.ts';
import { descriptionRoutes } from '#process/process-routes/description-routes.ts';
import { frontPageRoute } from '#process/process-routes/front-page-route.ts';
import { healthRoutes } from '#process/process-routes/health-routes.ts';
import { metricsRoute } from '#process/process-routes/metrics-route.ts';
import type { Route } from '#server/http/http-types.ts';
import type { JsonObject } from '#server/openapi/components.ts';
import { fakeRequest } from './fake-request.ts';
import { untouchedQueryRoutes } from './plain-store.ts';

// nothing is called while tables are made: what the handlers would need is never reached
const untouched = {} as never;

export function gatewayTable(): Route[] {
  return gatewayRoutes(untouched);
}

export function queryTable(authenticate: Authenticate = untouched): Route[] {
  return [...untouchedQueryRoutes(authenticate), ...webhookRoutes({ webhooks: untouched, authenticate })];
}

export function consoleTable(): Route[] {
  return consoleRoutes(untouched);
}

/** Method and path pattern of every route that the gateway and the query service serve, as their own tables say. */
export function routeTable(): readonly string[] {
  return [...queryTable(), ...gatewayTable()].map(({ method, path }) => `${method} ${path}`).sort();
}

/** Every route of a process that runs some services. */
export function processRoutes(services: readonly Route[], publicUrl?: string): Route[] {
  const routes = [
    frontPageRoute(services),
    ...healthRoutes([], () => null),
    metricsRoute({ token: undefined, read: async () => '' }),
    ...services,
  ];
  const base = publicUrl ?? 'http://127.0.0.1:8080';
  return [...routes, ...descriptionRoutes({ routes, publicUrl, baseUrl: () => base })];
}

/** What GET /openapi.json of such a process answers. */
export async function documentOf(
  routes: readonly Route[],
  version: '3.0' | '3.1' = '3.1',
): Promise<JsonObject> {
  const route = routes.find(({ path }) => path === '/openapi.json');
  const answer = await route?.handler(fakeRequest({ query: [['version', version]] }));
  return JSON.parse(answer?.body as string) as JsonObject;
}

/** What the validator says against a document; empty when it says nothing. */
export async function problemsOf(document: JsonObject): Promise<string> {
  // it changes what it is given
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as Parameters<Validator['validate']>[0],
  );
  return valid ? '' : JSON.stringify(errors, null, 1);
}

export interface FoundOperation {
  readonly path: string;
  /** Upper case. */
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: JSON that each test looks into
  readonly operation: any;
}

/** The same document with what its operations refer to in its place, but for schemas. */
export function inlined(document: JsonObject): JsonObject {
  const replace = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(replace);
    const { $ref } = part as { readonly $ref?: unknown };
    const [, kind = '', key = ''] =
      /^#\/components\/(parameters|headers|responses)\/(.*)$/.exec(typeof $ref === 'string' ? $ref : '') ??
      [];
    const kinds = document.components as Record<string, Record<string, unknown>>;
    if (kind !== '') return replace(kinds[kind]?.[key]);
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, replace(value)]));
  };
  return { ...document, paths: replace(document.paths) as JsonObject };
}

/** Every operation of a document, QUERY too. */
export function operationsOf(document: JsonObject): FoundOperation[] {
  return Object.entries(inlined(document).paths as Record<string, Record<string, unknown>>).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([key, operation]) => ({
        path,
        method: key.replace(/^x-/, '').toUpperCase(),
        operation,
      })),
  );
}
