import type { Headers, HttpRequest } from '#server/http/http-types.ts';

const longestLink = 8192;

/** RFC 8288, for a page that is asked for in the address; otherwise the value that the question takes. */
export function nextHeaders(request: HttpRequest, cursor: string): Headers {
  const { method, query, rawQuery } = request;
  const isAddressed = (method === 'GET' || method === 'HEAD') && query.some(([name]) => name === '$limit');
  if (isAddressed && !isBegunByOptions(request)) {
    const others = rawQuery.split('&').filter((pair) => !/^(?:\$|%24)(?:page|after)=/i.test(pair));
    const next = [...others, `$after=${encodeURIComponent(cursor)}`].join('&');
    const link = `<?${next.replace(/[^!-~]|[<>"]/gu, encodeURIComponent)}>; rel="next"`;
    if (link.length <= longestLink) return { link };
  }
  return { 'sluice-next-after': cursor };
}

/** Whether the `options` header says where the page begins: an address that goes with it can't say it again. */
function isBegunByOptions(request: HttpRequest): boolean {
  const options = request.header('options');
  if (!options) return false;
  const { pagination } = JSON.parse(options) as { readonly pagination?: Record<string, unknown> | null };
  return pagination?.page !== undefined || pagination?.after !== undefined;
}
