/** The part of the DOM's class that is used here: the client has no types of the DOM where a server compiles it. */
interface PageRequest {
  readonly status: number;
  readonly responseText: string;
  readonly upload: { onprogress: ((event: { readonly loaded: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: unknown): void;
  abort(): void;
}

declare const XMLHttpRequest: (new () => PageRequest) | undefined;

/**
 * A `fetch` that reports the bytes of the body that were sent, as only XMLHttpRequest can. undefined: there is none, as
 * in Node. For bodies that are not streams, and short answers.
 */
export function fetchWithProgress(onSent: (bytes: number) => void): typeof fetch | undefined {
  if (typeof XMLHttpRequest === 'undefined') return undefined;
  const Request = XMLHttpRequest;
  return (url, init = {}) =>
    new Promise((resolve, reject) => {
      const { method = 'GET', headers, body, signal } = init;
      const request = new Request();
      request.open(method, String(url));
      for (const [name, value] of Object.entries(headers as Record<string, string>))
        request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded }) => onSent(loaded);
      request.onload = () => {
        // of a bucket a page may see no header at all
        const lines = [...request.getAllResponseHeaders().matchAll(/(.+?): ?(.*)/g)];
        const pairs = lines.map(([, name, value]) => [name, value] as [string, string]);
        // a 204 may not even have an empty body
        resolve(new Response(request.responseText || null, { status: request.status, headers: pairs }));
      };
      request.onerror = () => reject(new TypeError('The connection broke'));
      request.onabort = () => reject(signal?.reason);
      signal?.addEventListener('abort', () => request.abort());
      if (signal?.aborted) reject(signal.reason);
      else request.send(body);
    });
}
