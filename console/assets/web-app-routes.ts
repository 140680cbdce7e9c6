import { nothingHere } from '#kernel/errors/catalogue.ts';
import { preferredCoding } from '#server/http/content-coding.ts';
import type { HttpRequest, HttpResponse, Route } from '#server/http/http-types.ts';
import { type BuiltFile, builtFile, indexFile, readBuiltFiles } from './built-files.ts';

/** Other origins that the dashboard's page uses. */
export interface OtherOrigins {
  /** Of the API. */
  readonly api: readonly string[];
  /** Of files. */
  readonly files: readonly string[];
}

export interface WebAppDeps {
  /** Absolute path of the output of `npm run build:console`. */
  readonly webApp: string;
  /** Called for each page, because the process learns its address late. */
  readonly origins: () => OtherOrigins;
}

const placeholder = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Sluice</title><meta name="viewport" content="width=device-width"></head>
<body>
<h1>The dashboard is not built</h1>
<p>Run <code>npm run build:console</code>, and load this page again.</p>
</body>
</html>
`;

/**
 * The web app below /_console_/: its files, and its single page at any other address, which the page's router reads.
 */
export function webAppRoutes({ webApp, origins }: WebAppDeps): Route[] {
  const notBuilt = builtFile('text/html; charset=utf-8', Buffer.from(placeholder));
  let built: ReadonlyMap<string, BuiltFile> | null = null;
  return [
    {
      operation: 'goToDashboard',
      method: 'GET',
      path: '/_console_',
      withoutCors: true,
      handler: () => ({ status: 302, headers: { location: '/_console_/' } }),
    },
    {
      operation: 'getDashboard',
      method: 'GET',
      path: '/_console_/:rest*',
      withoutCors: true,
      async handler(request) {
        const { rest = '' } = request.params;
        // the web app may be built while the process runs
        built ??= await readBuiltFiles(webApp);
        const file = built?.get(rest);
        if (file !== undefined && rest !== indexFile) return fileAnswer(request, rest, file, origins());
        // an old page may ask for a file of an earlier build, and must not get the page instead
        if (rest.startsWith('assets/') || rest === 'api' || rest.startsWith('api/')) throw nothingHere();
        return fileAnswer(request, indexFile, built?.get(indexFile) ?? notBuilt, origins());
      },
    },
  ];
}

function fileAnswer(
  request: HttpRequest,
  name: string,
  { type, etag, plain, gzip }: BuiltFile,
  origins: OtherOrigins,
): HttpResponse {
  const headers = {
    ...pageHeaders(origins),
    // the build puts a hash into each of these names
    'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    etag,
  };
  if (hasVersion(request.header('if-none-match'), etag)) return { status: 304, headers };
  const zipped =
    gzip !== undefined && preferredCoding(request.header('accept-encoding') ?? '', ['gzip']) !== null;
  return {
    status: 200,
    headers: { ...headers, 'content-type': type, ...(zipped ? { 'content-encoding': 'gzip' } : {}) },
    body: zipped ? gzip : plain,
  };
}

/** RFC 9110 section 13.1.2: weak comparison. */
function hasVersion(header: string | undefined, etag: string): boolean {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return header?.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag)) === true;
}

/** https://www.w3.org/TR/CSP3/: only the build's own scripts may run, and no other page may frame it. */
function pageHeaders({ api, files }: OtherOrigins): Readonly<Record<string, string>> {
  const media = ["'self'", 'data:', 'blob:', ...new Set([...api, ...files])].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${media}`,
    `media-src ${media}`,
    `connect-src ${["'self'", ...new Set([...api, ...files])].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
  return {
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    // for browsers without frame-ancestors
    'x-frame-options': 'DENY',
  };
}
