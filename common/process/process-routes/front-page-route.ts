import { exactObject, string as text } from '#kernel/json/schema.ts';
import type { Handler, HttpResponse, Route } from '#server/http/http-types.ts';
import { type ApiOperation, doorErrors, header, jsonContent } from '#server/openapi/api-operation.ts';
import { getRoute } from './get-route.ts';

const title = 'Sluice';
const about = 'A backend for files and records, over HTTP.';
const documentation = '/docs';

const described: ApiOperation = {
  id: 'getFrontPage',
  tag: 'Description',
  summary: 'Name the service',
  description: 'JSON. Browsers are sent to the dashboard, or see a page if the process has none.',
  access: 'none',
  needs: null,
  answers: {
    200: {
      description: 'What the service is, and links',
      headers: {
        Vary: header('accept'),
        'Content-Security-Policy': { description: 'Of the page: it runs nothing', schema: text },
      },
      content: {
        ...jsonContent(
          exactObject(
            { name: text, description: text, documentation: text, dashboard: text, health: text },
            { optional: ['dashboard'] },
          ),
        ),
        'text/html': { schema: text },
      },
    },
    302: {
      description: 'To the dashboard',
      headers: { Location: header('/_console_/'), Vary: header('accept') },
    },
  },
  errors: doorErrors,
  sample: (base) => `curl -sS ${base}/`,
};

/**
 * `/`: browsers, which accept HTML, get the dashboard, or a page if there is none; programs get JSON.
 * @param routes of the process, which show whether it serves the dashboard
 */
export function frontPageRoute(routes: readonly Pick<Route, 'path'>[]): Route {
  const dashboard = dashboardOf(routes);
  const json: HttpResponse = {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', vary: 'accept' },
    body: JSON.stringify({
      name: title,
      description: about,
      documentation,
      dashboard: dashboard ?? undefined,
      health: '/healthz',
    }),
  };
  const page: HttpResponse =
    dashboard === null
      ? {
          status: 200,
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
            vary: 'accept',
          },
          body: pageText,
        }
      : { status: 302, headers: { location: dashboard, vary: 'accept' } };
  const handler: Handler = (request) => (asksForHtml(request.header('accept')) ? page : json);
  return { ...getRoute('/', described, handler), operation: 'frontPage' };
}

/** The path of the dashboard; null: no route serves it. */
export function dashboardOf(routes: readonly Pick<Route, 'path'>[]): string | null {
  return routes.some(({ path }) => path.startsWith('/_console_')) ? '/_console_/' : null;
}

/** Browsers name text/html; other clients send no Accept header, or accept anything. */
function asksForHtml(accept: string | undefined): boolean {
  return accept !== undefined && /(?:^|[,\s])text\/html(?:$|[,;\s])/i.test(accept);
}

const pageText = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width">
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }</style></head>
<body>
<h1>${title}</h1>
<p>${about} This is its address: applications send their requests here.</p>
<p>Access tokens are made with <code>npm run token</code>, or in the dashboard.</p>
<p><a href="${documentation}">The API</a>, to read and to try. <code>README.md</code> of the project says how to begin.</p>
</body>
</html>
`;
