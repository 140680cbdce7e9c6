import type { Route } from '#server/http/http-types.ts';
import { type ApiOperation, doorErrors } from '#server/openapi/api-operation.ts';
import { buildDocument } from '#server/openapi/build-document.ts';
import type { JsonObject } from '#server/openapi/components.ts';
import { curl } from '#server/openapi/curl.ts';
import {
  documentText,
  type OpenApiVersion,
  openApiAnswer,
  openApiAnswers,
  versionParameter,
  wantedVersion,
} from '#server/openapi/openapi-answer.ts';
import { clientRoutes } from './client-routes.ts';
import { docsRoutes } from './docs-routes.ts';
import { getRoute } from './get-route.ts';

const description = `Uploads stream into an object store; records are kept in record spaces with typed fields.

Every request carries \`Authorization: Bearer <ACCESS_TOKEN>\`, over HTTPS. Examples are of a project \`demo\`, and work as they are
with a token in \`TOKEN\`. Each answer carries \`X-Request-Id\`. An error is JSON in the form of \`Error\`, or problem details (RFC 9457) for who
accepts \`application/problem+json\`. A path answers methods that it does not have with 405 \`method_not_allowed\` and \`Allow\`, HEAD like GET,
and OPTIONS with 204 and \`Allow\`; an address that is not listed gets 404 \`not_found\`. The answers to errors are those of all operations:
\`x-error-codes\` lists the codes of each.

OpenAPI does not know the method \`QUERY\` yet: operations with it are under \`x-query\`.`;

const details: ApiOperation = {
  id: 'getDescription',
  tag: 'Description',
  summary: 'Describe the API',
  access: 'none',
  needs: null,
  parameters: [versionParameter],
  answers: openApiAnswers,
  errors: doorErrors,
  sample: (base) => curl({ url: `${base}/openapi.json` }),
};

/**
 * GET /openapi.json, the page that shows it, and the client for pages. They describe the given routes and themselves.
 * @param args.publicUrl the base URL for clients, if it is configured
 * @param args.baseUrl that URL, or the address that the process listens on
 */
export function descriptionRoutes(args: {
  readonly routes: readonly Route[];
  readonly publicUrl: string | undefined;
  readonly baseUrl: () => string;
}): Route[] {
  const { publicUrl, baseUrl } = args;
  const texts = new Map<OpenApiVersion, string>();
  const route = getRoute('/openapi.json', details, (request) => {
    const version = wantedVersion(request);
    const text = texts.get(version) ?? documentText(describe(), version);
    texts.set(version, text);
    return openApiAnswer(request, version, text);
  });
  const own = [route, ...docsRoutes(publicUrl), ...clientRoutes()].map((one) => ({
    ...one,
    compressed: true,
  }));
  const describe = (): JsonObject => {
    const info = { title: 'Sluice', description, server: publicUrl ?? '/', base: baseUrl() };
    return buildDocument(info, inOrder([...args.routes, ...own]));
  };
  return own;
}

/** Sorts the routes of the process itself to the end. */
function inOrder(routes: readonly Route[]): readonly Route[] {
  const aside = ['Description', 'Health'];
  return routes.toSorted((a, b) => aside.indexOf(a.api?.tag ?? '') - aside.indexOf(b.api?.tag ?? ''));
}
