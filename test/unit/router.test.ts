import t from 'tap';
import type { Route } from '#server/http/http-types.ts';
import { Router } from '#server/http/router.ts';

const route = (method: Route['method'], path: string): Route => ({
  method,
  path,
  handler: () => ({ status: 200 }),
});
const router = new Router([
  route('GET', '/:project/:space'),
  { ...route('POST', '/:project/:space'), optionsHeaders: { 'accept-query': 'application/json' } },
  route('GET', '/:project/:space/_single_'),
  route('GET', '/_f_/:project/:name'),
  route('POST', '/_f_/:project/upload'),
  route('GET', '/healthz'),
]);

t.test('the pattern whose fixed text comes first decides', async (t) => {
  const path = (method: string, text: string) => router.match(method, text).route.path;
  t.equal(path('GET', '/a/b'), '/:project/:space');
  t.equal(path('GET', '/a/b/_single_'), '/:project/:space/_single_');
  t.equal(path('GET', '/_f_/b/_single_'), '/_f_/:project/:name');
  t.equal(path('POST', '/_f_/b/upload'), '/_f_/:project/upload');
  t.equal(path('HEAD', '/healthz'), '/healthz');
  t.throws(() => router.match('GET', '/_f_/b/upload'), { status: 405, code: 'method_not_allowed' });
});

t.test('parameters are percent-decoded once', async (t) => {
  t.strictSame(router.match('GET', '/a%2541/%E2%82%AC').params, { project: 'a%41', space: '€' });
  t.throws(() => router.match('GET', '/a/%E2%82'), { status: 400, code: 'malformed_request' });
});

t.test('what is not there, and what is not allowed', async (t) => {
  for (const path of ['/', '/a', '/a/', '//', '/a/b/c', '/a/b/c/d', '/healthz/']) {
    t.throws(() => router.match('GET', path), { status: 404, code: 'not_found' }, path);
  }
  t.throws(() => router.match('DELETE', '/a/b'), {
    status: 405,
    code: 'method_not_allowed',
    headers: { allow: 'GET, POST, HEAD, OPTIONS' },
  });
  t.strictSame(router.options('/_f_/p/upload')?.allow, ['POST', 'OPTIONS']);
  t.equal(router.options('/nothing/at/all'), undefined);
});

t.test('OPTIONS of a path with a doubled slash lacks nothing that the path with one has', async (t) => {
  const expected = {
    allow: ['GET', 'POST', 'HEAD', 'OPTIONS'],
    optionsHeaders: { 'accept-query': 'application/json' },
  };
  t.strictSame(router.options('/a/b'), expected);
  t.strictSame(router.options('//a/b'), expected);
});

t.test(
  'a doubled slash before a project, of a client whose endpoint ends in one, is not a 404',
  async (t) => {
    t.strictSame(router.match('GET', '//a/b').params, { project: 'a', space: 'b' });
    t.equal(router.match('POST', '//_f_/b/upload').route.path, '/_f_/:project/upload');
    t.strictSame(router.options('//_f_/p/upload')?.allow, ['POST', 'OPTIONS']);
    // rules of proxies keep strangers from others by how their paths begin
    for (const path of ['//healthz', '//', '///', '//a', '/a//b', '//a//b']) {
      t.throws(() => router.match('GET', path), { status: 404, code: 'not_found' }, path);
    }
  },
);

t.test('two routes for one method and address are a mistake of ours', async (t) => {
  t.throws(() => new Router([route('GET', '/:a'), route('GET', '/:b')]), /two routes/);
});
