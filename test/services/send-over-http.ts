import type { Send } from './record-history.ts';

/** Requests to a process; null: the connection broke, or nobody answered in time. */
export function sendOverHttp(server: () => { readonly baseUrl: string; readonly token: string }): Send {
  return async ({ method, path, structure, query = [], headers, body }) => {
    const { baseUrl, token } = server();
    const pairs =
      typeof query === 'string'
        ? query
        : new URLSearchParams(query.map(([name, value]): [string, string] => [name, value]));
    try {
      const response = await fetch(`${baseUrl}${path}?${pairs}`, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          authorization: `Bearer ${token}`,
          'auto-create-project': 'true',
          'auto-create-record-space': 'true',
          ...(structure === undefined ? {} : { structure }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      });
      const text = await response.text();
      const answer = JSON.parse(text);
      const isError = response.status >= 400;
      return {
        status: response.status,
        code: isError ? answer.code : null,
        problems: isError ? answer.error : [],
        body: isError ? null : answer,
        text,
      };
    } catch {
      return null;
    }
  };
}
