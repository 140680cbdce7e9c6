import type { EndingValue, SealedTexts } from '#auth/sealed-texts.ts';
import type { HostCookie } from '#server/http/host-cookie.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { OpenSession } from './sessions.ts';

/** Milliseconds for which a login at the provider confirms what needs a password. */
export const proofLifetime = 300_000;
const purpose = 'sluice console proof 1';

interface Proof extends EndingValue {
  /** SHA-256 of the session's cookie. */
  readonly session: string;
}

interface LoginProofsDeps {
  readonly sealed: SealedTexts;
  readonly cookie: HostCookie;
  readonly now: () => number;
}

/**
 * Replaces the password of an account without one: proof that the user of a session has just logged in at the provider.
 * It is a sealed cookie, and worth nothing in another session.
 */
export class LoginProofs {
  readonly #deps: LoginProofsDeps;

  constructor(deps: LoginProofsDeps) {
    this.#deps = deps;
  }

  /** The cookie to set. */
  async make(request: HttpRequest, { session }: Pick<OpenSession, 'session'>): Promise<string> {
    const { sealed, cookie, now } = this.#deps;
    const proof: Proof = { session: session.hash, until: now() + proofLifetime };
    return cookie.set(request, await sealed.sealValue(proof, purpose));
  }

  async has(request: HttpRequest, { session }: Pick<OpenSession, 'session'>): Promise<boolean> {
    const { sealed, cookie, now } = this.#deps;
    const proof = await sealed.openValue<Proof>(cookie.read(request) ?? '', purpose, now());
    return proof?.session === session.hash;
  }
}
