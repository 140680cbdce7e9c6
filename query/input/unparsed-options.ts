import type { HttpRequest } from '../../common/http/http-types.ts';

/** Keys of the `options` header that do not depend on a structure. */
export interface UnparsedOptions {
  readonly token?: unknown;
  readonly populate?: unknown;
}

/** Reads them before there is a structure. What is wrong with the header is for `parseOptions` to say. */
export function unparsedOptions(request: Pick<HttpRequest, 'header'>): UnparsedOptions {
  const header = request.header('options');
  // most requests have neither key, and are spared the parsing
  if (header === undefined || !/token|populate/.test(header)) return {};
  try {
    const input: unknown = JSON.parse(header);
    return typeof input === 'object' && input !== null ? input : {};
  } catch {
    return {};
  }
}
