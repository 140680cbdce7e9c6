/** Addresses outside the dashboard's own origin that its page works with; each is an origin. */
export interface OtherOrigins {
  /** Of the API. */
  readonly api: readonly string[];
  /** Of files. */
  readonly files: readonly string[];
}

/** https://www.w3.org/TR/CSP3/: only the build's own scripts may run, and nobody may frame it. */
export function pageHeaders({ api, files }: OtherOrigins): Readonly<Record<string, string>> {
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
    // for browsers that do not know frame-ancestors
    'x-frame-options': 'DENY',
  };
}
