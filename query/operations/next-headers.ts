import type { NextPage } from '#records/next-page.ts';
import type { Headers, HttpRequest } from '#server/http/http-types.ts';

const longestLink = 8192;

/** A link (RFC 8288), if the address has the limit; otherwise the `$after` of the next page. */
export function nextHeaders(
  request: HttpRequest,
  { beginsInHeader }: Pick<NextPage, 'beginsInHeader'>,
  cursor: string,
): Headers {
  const { method, query, rawQuery } = request;
  const isAddressed = (method === 'GET' || method === 'HEAD') && query.some(([name]) => name === '$limit');
  if (isAddressed && !beginsInHeader) {
    const others = rawQuery.split('&').filter((pair) => !/^(?:\$|%24)(?:page|after)=/i.test(pair));
    const next = [...others, `$after=${encodeURIComponent(cursor)}`].join('&');
    const link = `<?${next.replace(/[^!-~]|[<>"]/gu, encodeURIComponent)}>; rel="next"`;
    if (link.length <= longestLink) return { link };
  }
  return { 'sluice-next-after': cursor };
}
