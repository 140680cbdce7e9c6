import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { nothingHere } from '#kernel/errors/catalogue.ts';
import type { HttpResponse, Route } from '#server/http/http-types.ts';
import { type ApiOperation, doorErrors } from '#server/openapi/api-operation.ts';
import { getRoute } from './get-route.ts';

/** Scripts and styles of the page, by name. Their paths begin with `_`, which no project's path does. */
const prefix = '/_docs_';
const types: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

// `?v=` changes with the content, so that a browser never mixes cached files of two versions
const page = (v: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice API</title>
<link rel="icon" type="image/png" href="${prefix}/favicon-32x32.png?v=${v}">
<link rel="stylesheet" href="${prefix}/swagger-ui.css?v=${v}">
<link rel="stylesheet" href="${prefix}/page.css?v=${v}">
</head>
<body>
<div id="api"></div>
<noscript>This page needs JavaScript. The description itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="${prefix}/swagger-ui-bundle.js?v=${v}"></script>
<script src="${prefix}/page.js?v=${v}"></script>
</body>
</html>
`;

/** Our only script: it starts Swagger UI, and follows the browser's colour scheme. */
const script = `'use strict';
const dark = matchMedia('(prefers-color-scheme: dark)');
const setColours = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', setColours);
setColours();
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  queryConfigEnabled: false,
  presets: [SwaggerUIBundle.presets.apis],
});
`;

const styles = `body { margin: 0; }
html.dark-mode { color-scheme: dark; background: #1c2022; }
`;

const headers = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

/** Nothing is loaded from other origins; calls go only to this origin and the public URL. */
function policy(publicUrl: string | undefined): string {
  const calls = publicUrl === undefined ? "'self'" : `'self' ${new URL(publicUrl).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src ${calls}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** GET /docs: a page that shows the description and can send requests, and its files. */
export function docsRoutes(publicUrl: string | undefined): Route[] {
  let files: ReadonlyMap<string, HttpResponse> | null = null;
  const load = (): ReadonlyMap<string, HttpResponse> => {
    files ??= readFiles(policy(publicUrl));
    return files;
  };
  return [
    getRoute('/docs', pageOperation, () => load().get('') as HttpResponse),
    getRoute(`${prefix}/:file`, fileOperation, ({ params: { file = '' } }) => {
      const answer = file === '' ? undefined : load().get(file);
      if (answer === undefined) throw nothingHere();
      return answer;
    }),
  ];
}

function readFiles(contentSecurityPolicy: string): ReadonlyMap<string, HttpResponse> {
  const directory = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const kept = { ...headers, 'cache-control': 'public, max-age=31536000, immutable' };
  const file = (type: string, body: string | Uint8Array): HttpResponse => ({
    status: 200,
    headers: { ...kept, 'content-type': type },
    body,
  });
  const files = new Map(
    Object.entries(types).map(([name, type]) => [name, file(type, readFileSync(join(directory, name)))]),
  );
  files.set('page.js', file('text/javascript; charset=utf-8', script));
  files.set('page.css', file('text/css; charset=utf-8', styles));
  const hash = createHash('sha256');
  for (const { body } of files.values()) hash.update(body as string | Uint8Array);
  files.set('', {
    status: 200,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy,
      'cache-control': 'no-cache',
    },
    body: page(hash.digest('hex').slice(0, 12)),
  });
  return files;
}

const pageOperation: ApiOperation = {
  id: 'getDocs',
  tag: 'Description',
  summary: 'Show the API in a browser',
  description: 'A page that renders this description and tries calls.',
  access: 'none',
  needs: null,
  answers: { 200: { description: 'The page', content: { 'text/html': { schema: { type: 'string' } } } } },
  errors: doorErrors,
};

const fileOperation: ApiOperation = {
  id: 'getDocsFile',
  tag: 'Description',
  summary: 'Get a file of that page',
  access: 'none',
  needs: null,
  pathParameters: { file: { description: 'Name of the file', schema: { type: 'string', minLength: 1 } } },
  answers: {
    200: {
      description: 'The file',
      content: {
        'text/javascript': { schema: { type: 'string' } },
        'text/css': { schema: { type: 'string' } },
        'image/png': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } },
      },
    },
  },
  errors: [...doorErrors, 'not_found'],
};
