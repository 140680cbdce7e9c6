import { createHash, randomBytes } from 'node:crypto';
import type { CookieBrowser } from './cookie-browser.ts';
import type { Answer, openRuledFiles } from './ruled-files.ts';

type Server = Awaited<ReturnType<typeof openRuledFiles>>;

export const page = 'https://app.example.com/login';

export interface Pending {
  readonly verifier: string;
  readonly challenge: string;
}

export function newPending(): Pending {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** A page that logs users of `app/users` in. */
export function oidcPage({ ask, page: headersOf }: Pick<Server, 'ask' | 'page'>) {
  const headers = { ...headersOf(), origin: 'https://app.example.com' };
  const start = (body: object, more: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    ask({ path: '/app/users/_oidc_/start', body, headers: { ...headers, ...more } });
  const redeem = (code: string | null, verifier: string): Promise<Answer> =>
    ask({ path: '/app/function/oidc-login', body: { code, verifier }, headers });
  return {
    start,
    redeem,
    /** The whole login. */
    async logIn(browser: CookieBrowser, pending = newPending()) {
      const begun = await start({ returnTo: page, challenge: pending.challenge });
      if (begun.status !== 200) return { error: begun.text, fragment: new URLSearchParams(), answer: begun };
      const end = await browser.follow(begun.json().url, page);
      const fragment = new URLSearchParams(new URL(end).hash.slice(1));
      const code = fragment.get('oidc_code');
      const answer = code === null ? null : await redeem(code, pending.verifier);
      return { error: fragment.get('oidc_error'), fragment, answer };
    },
  };
}
