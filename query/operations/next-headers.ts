import type { Headers, HttpRequest } from '#server/http/http-types.ts';

const longestLink = 8192;

/** RFC 8288, for a page that is asked for in the address; otherwise the value that the question takes. */
export function nextHeaders({ method, query, rawQuery }: HttpRequest, cursor: string): Headers {
  if ((method === 'GET' || method === 'HEAD') && query.some(([name]) => name === '$limit')) {
    const others = rawQuery.split('&').filter((pair) => !/^(?:\$|%24)(?:page|after)=/i.test(pair));
    const next = [...others, `$after=${encodeURIComponent(cursor)}`].join('&');
    const link = `<?${next.replace(/[^!-~]|[<>"]/gu, encodeURIComponent)}>; rel="next"`;
    if (link.length <= longestLink) return { link };
  }
  return { 'sluice-next-after': cursor };
}
