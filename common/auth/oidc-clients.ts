import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Configuration } from 'openid-client';
import type { GuardedFetch } from '#kernel/http-client/guarded-fetch.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';

/** A provider of OpenID Connect, and how it knows us. */
export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
}

/** What a login must bring back. Only the browser that began it has it, sealed. */
export interface OidcChecks {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
}

export interface OidcClaims {
  readonly issuer: string;
  readonly sub: string;
  /** Undefined unless the provider says that it is verified. */
  readonly email: string | undefined;
  readonly name: string | undefined;
}

/** Why a login failed, in a word for the page. */
export type OidcProblem = 'access_denied' | 'provider_unavailable' | 'login_failed' | 'email_not_verified';

export class OidcFailure extends Error {
  readonly problem: OidcProblem;

  constructor(problem: OidcProblem, cause: unknown) {
    super(`a login by OpenID Connect failed: ${reasonOf(cause)}`);
    this.problem = problem;
  }
}

const mostProviders = 200;
/** Milliseconds for which a discovered provider is known. Its keys are read again when an unknown one signs. */
const knownFor = 600_000;
/** Seconds for a request to a provider, beside the limit of the fetch. */
const timeout = 10;

let loaded: Promise<typeof import('openid-client')> | undefined;
/** Loaded with the first login: most servers never need it. */
function loadOpenId(): Promise<typeof import('openid-client')> {
  loaded ??= import('openid-client');
  return loaded;
}

/** Logs in by providers: discovery, the address of the login, and the check of what comes back. */
export class OidcClients {
  readonly #fetch: GuardedFetch;
  readonly #known = new LRUCache<string, Configuration>({ max: mostProviders, ttl: knownFor });
  /** Requests to providers at once: a silent one must not hold up those of other accounts. */
  readonly #turns = new FairShare({
    ...{ capacity: 16, share: 2, queueLimit: 200, accountQueueLimit: 20, waitLimit: 10_000 },
    full: 'Too many logins wait for their providers',
  });

  constructor(fetch: GuardedFetch) {
    this.#fetch = fetch;
  }

  /**
   * The address at the provider, and what has to come back. Throws an OidcFailure.
   * @param args.account whose share is used @param args.maxAge the user has to log in even with a session at the provider
   */
  async begin(
    provider: OidcProvider,
    {
      account,
      callback,
      maxAge,
    }: {
      readonly account: string;
      readonly callback: string;
      readonly maxAge?: number | undefined;
    },
    signal: AbortSignal,
  ): Promise<{ readonly address: string; readonly checks: OidcChecks }> {
    const openId = await loadOpenId();
    const checks = {
      state: openId.randomState(),
      nonce: openId.randomNonce(),
      verifier: openId.randomPKCECodeVerifier(),
    };
    const code_challenge = await openId.calculatePKCECodeChallenge(checks.verifier);
    return this.#turn(account, signal, async () => {
      const { href: address } = openId.buildAuthorizationUrl(await this.#configOf(provider), {
        redirect_uri: callback,
        scope: provider.scopes.join(' '),
        ...{ state: checks.state, nonce: checks.nonce, code_challenge, code_challenge_method: 'S256' },
        ...(maxAge === undefined ? {} : { prompt: 'login', max_age: String(maxAge) }),
      });
      return { address, checks };
    });
  }

  /**
   * What the provider says of the user. Throws an OidcFailure.
   * @param args.query of the callback, as it came
   * @param args.maxAge most seconds since the user logged in at the provider, which has to say when that was
   */
  async finish(
    provider: OidcProvider,
    args: {
      readonly account: string;
      readonly callback: string;
      readonly query: string;
      readonly checks: OidcChecks;
      readonly maxAge?: number | undefined;
    },
    signal: AbortSignal,
  ): Promise<OidcClaims> {
    const { account, callback, query, checks, maxAge } = args;
    const openId = await loadOpenId();
    return this.#turn(account, signal, async () => {
      const config = await this.#configOf(provider);
      const tokens = await openId.authorizationCodeGrant(config, new URL(`${callback}?${query}`), {
        pkceCodeVerifier: checks.verifier,
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        idTokenExpected: true,
        ...(maxAge !== undefined && { maxAge }),
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('the provider sent no ID token');
      const { iss, sub } = claims;
      const needsMore = claims.email === undefined && provider.scopes.includes('email');
      const hasMore = config.serverMetadata().userinfo_endpoint !== undefined;
      const more =
        needsMore && hasMore ? await openId.fetchUserInfo(config, tokens.access_token, sub) : claims;
      const { email, email_verified: isVerified, name } = more;
      return {
        issuer: iss,
        sub,
        email: typeof email === 'string' && isVerified === true ? email : undefined,
        name: typeof name === 'string' ? name : undefined,
      };
    });
  }

  async #configOf(provider: OidcProvider): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = provider;
    const key = createHash('sha256')
      .update(JSON.stringify([issuer, clientId, clientSecret]))
      .digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const openId = await loadOpenId();
    // the fetch lets http through to this machine alone
    const execute = issuer.startsWith('http:') ? [openId.allowInsecureRequests] : [];
    const found = await openId.discovery(new URL(issuer), clientId, undefined, openId.None(), {
      ...{ execute, timeout },
      [openId.customFetch]: this.#fetch,
    });
    const server = found.serverMetadata();
    // "If omitted, the default is client_secret_basic" (OpenID Connect Discovery 1.0 section 3)
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authentication = methods.includes('client_secret_basic')
      ? openId.ClientSecretBasic(clientSecret)
      : openId.ClientSecretPost(clientSecret);
    const config = new openId.Configuration(
      server,
      clientId,
      { client_secret: clientSecret },
      authentication,
    );
    config.timeout = timeout;
    config[openId.customFetch] = this.#fetch;
    for (const change of execute) change(config);
    // the library trusts TLS for the signatures of ID tokens otherwise
    openId.enableNonRepudiationChecks(config);
    this.#known.set(key, config);
    return config;
  }

  async #turn<Result>(account: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const release = await this.#turns.take(signal, account);
    try {
      return await work();
    } catch (error) {
      throw new OidcFailure(problemOf(error), error);
    } finally {
      release();
    }
  }
}

/** The error of the provider, or the code of the library; never a value of a token. */
function reasonOf(cause: unknown): string {
  const { error, code, message, cause: inner } = cause as Readonly<Record<string, unknown>>;
  const named = [error, code, message].find((one) => typeof one === 'string' && one !== '');
  const deeper = inner instanceof Error ? `: ${inner.message}` : '';
  return `${String(named ?? 'an unknown error')}${deeper}`.slice(0, 300);
}

function problemOf(cause: unknown): OidcProblem {
  const { error, code } = cause as Readonly<Record<string, unknown>>;
  if (error === 'access_denied') return 'access_denied';
  if (error !== undefined || String(code).startsWith('OAUTH_')) return 'login_failed';
  return 'provider_unavailable';
}
