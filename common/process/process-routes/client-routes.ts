import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nothingHere } from '#kernel/errors/catalogue.ts';
import { string as text } from '#kernel/json/schema.ts';
import type { HttpRequest, HttpResponse, Route } from '#server/http/http-types.ts';
import { type ApiOperation, doorErrors, header } from '#server/openapi/api-operation.ts';
import { getRoute } from './get-route.ts';

/** The path of the client for pages. It begins with `_`, which no project's path does. */
const prefix = '/_client_/';
/** What `client/build.ts` writes; also in the package and in the image. */
const built = join(import.meta.dirname, '../../../client/dist');
const module = 'sluice-client.js';

/** A page of any origin may load it, also with `integrity` and where `Cross-Origin-Embedder-Policy` is set. */
const headers = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'content-location, etag',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
};
const lastsShort = 'public, max-age=300';
const lastsForever = 'public, max-age=31536000, immutable';

/** GET /_client_/sluice-client.js: the client as an ES module, its source map, and the same under a name with its hash. */
export function clientRoutes(folder = built): Route[] {
  let files: ReadonlyMap<string, HttpResponse> | null = null;
  return [
    {
      ...getRoute(`${prefix}:file`, operation, (request) => {
        files ??= readFiles(folder);
        const file = files.get(request.params.file ?? '');
        if (file === undefined) throw nothingHere();
        return hasIt(request, file) ? { status: 304, headers: file.headers ?? {} } : file;
      }),
      // it has CORS headers of its own: also where CORS_ORIGINS allows few
      withoutCors: true,
    },
  ];
}

function readFiles(folder: string): ReadonlyMap<string, HttpResponse> {
  const read = (name: string): Buffer | null => {
    try {
      return readFileSync(join(folder, name));
    } catch (error) {
      // not built
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  };
  const files = new Map<string, HttpResponse>();
  const [script, map] = [read(module), read(`${module}.map`)];
  if (script !== null) {
    const [, version = '0'] = /^\/\*! sluice-client ([\w.-]+)/.exec(script.toString()) ?? [];
    const lasting = `sluice-client-${version}-${hashOf(script)}.js`;
    const file = answer('text/javascript; charset=utf-8', script);
    const location = { ...file.headers, 'content-location': prefix + lasting };
    files.set(module, { ...file, headers: { ...location, 'cache-control': lastsShort } });
    files.set(lasting, { ...file, headers: { ...location, 'cache-control': lastsForever } });
  }
  if (map !== null) files.set(`${module}.map`, answer('application/json; charset=utf-8', map));
  return files;
}

function answer(type: string, body: Uint8Array): HttpResponse {
  const etag = `W/"${hashOf(body)}"`;
  return {
    status: 200,
    headers: { ...headers, 'content-type': type, 'cache-control': lastsShort, etag },
    body,
  };
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

/** RFC 9110 section 13.1.2: weak comparison. */
function hasIt(request: HttpRequest, { headers: { etag = '' } = {} }: HttpResponse): boolean {
  const tags = request.header('if-none-match')?.split(',') ?? [];
  return tags.some((tag) => tag.trim() === '*' || tag.trim().replace(/^(?:W\/)?/, 'W/') === etag);
}

const etagHeader = header('A weak tag of the content');

const operation: ApiOperation = {
  id: 'getClient',
  tag: 'Description',
  summary: 'Get the client for pages',
  description:
    'An ES module, `sluice-client.js`, and its source map. `Content-Location` is its address with version and hash, whose content never changes.',
  access: 'none',
  needs: null,
  pathParameters: { file: { description: 'Name of the file', schema: { ...text, minLength: 1 } } },
  answers: {
    200: {
      description: 'The file',
      headers: {
        ETag: etagHeader,
        'Content-Location': { description: 'The address with version and hash', schema: text },
      },
      content: { 'text/javascript': { schema: text }, 'application/json': { schema: { type: 'object' } } },
    },
    304: { description: 'It has not changed', headers: { ETag: etagHeader } },
  },
  errors: [...doorErrors, 'not_found'],
};
