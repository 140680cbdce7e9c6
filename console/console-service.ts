import { BlockList } from 'node:net';
import { join } from 'node:path';
import { createHasher } from '#auth/hasher.ts';
import { OidcClients } from '#auth/oidc-clients.ts';
import { openLoginThrottle } from '#auth/open-login-throttle.ts';
import { createSealedTexts } from '#auth/sealed-texts.ts';
import { createStoredKeys } from '#auth/signing-keys.ts';
import { openSingleUses } from '#auth/single-uses.ts';
import { createTokenGate } from '#auth/token-gate.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { createGuardedFetch } from '#kernel/http-client/guarded-fetch.ts';
import { createFindAddress } from '#kernel/http-client/network-guard.ts';
import type { ProcessServices, ServiceFactory } from '#process/lifecycle/service.ts';
import { createHostCookie } from '#server/http/host-cookie.ts';
import { mailNotices } from './accounts/notices.ts';
import { openPeople } from './accounts/open-people.ts';
import { Passwords } from './accounts/passwords.ts';
import { removeAccount } from './accounts/remove-account.ts';
import type { OtherOrigins } from './assets/web-app-routes.ts';
import { consoleRoutes } from './routes.ts';
import { LoginProofs, proofLifetime } from './sessions/login-proofs.ts';
import { OidcLogin, oidcLifetime } from './sessions/oidc-login.ts';
import { createSessionCookie } from './sessions/session-cookie.ts';
import { Sessions } from './sessions/sessions.ts';

/** The output of `npm run build:console`, also in the image. */
const webApp = join(import.meta.dirname, 'web', 'dist');

/** The dashboard on the stores of its process. */
export const consoleService: ServiceFactory = async (services, baseUrl) => {
  const { config, users, tokens, tokenCheck, sessions: store, deployment, limiters } = services;
  const hasher = createHasher();
  const throttle = await openLoginThrottle(services);
  // every cookie has a checksum, so no unsealed hash needs to be known
  const gate = createTokenGate({ tokens: { unsealedHashes: async () => [] }, deployment });
  const fileOrigins = await originsOfFiles(config);
  const { closed, members, log } = services;
  const { smtpUrl: url, mailFrom: from = '' } = config;
  const smtp = url === undefined ? undefined : { url, from };
  const people = openPeople({
    ...services,
    hasher,
    mode: config.registration,
    send: smtp && mailNotices(smtp, log),
    pageUrl: (path) => `${baseUrl()}/_console_${path}`,
  });
  services.removals.add('account', removeAccount({ ...services, ...people }));
  return {
    routes: consoleRoutes({
      sessions: new Sessions({ store, gate, deployment }),
      cookie: createSessionCookie({ tls: config.tls !== undefined }),
      passwords: new Passwords({ users, hasher, throttle }),
      ...people,
      users,
      members,
      closed,
      oidc: openOidc(services, baseUrl),
      tokens,
      tokenCheck,
      webApp,
      readLimits: { maxRows: config.readMaxRows || 1e15, timeout: config.readLimits.timeout },
      mode: config.registration,
      apiUrl: config.consoleApiUrl ?? '',
      filesArePublic: config.publicFilesUrl !== undefined || config.fileLinks === 'public',
      trashDays: config.trashDays,
      scansFiles: false,
      publicUrl: config.publicUrl,
      limiter: limiters.token,
      origins: () => originsOf(config, baseUrl(), fileOrigins),
    }),
    readiness: [],
    examples: () => '',
    close: async () => {},
  };
};

/** Null: the configuration names no provider. */
function openOidc(
  { config, db, database, redis, log }: ProcessServices,
  baseUrl: () => string,
): OidcLogin | null {
  if (config.oidc === undefined) return null;
  const keys = createStoredKeys({ db, database });
  // the operator chose the provider, so it may be in a private network
  const everywhere = new BlockList();
  everywhere.addSubnet('0.0.0.0', 0, 'ipv4');
  everywhere.addSubnet('::', 0, 'ipv6');
  const sealed = createSealedTexts(keys);
  const tls = config.tls !== undefined;
  const proofCookie = createHostCookie({ name: 'sluice_console_proof', lifetime: proofLifetime, tls });
  return new OidcLogin({
    ...{ config: config.oidc, baseUrl, log, now: Date.now, sealed },
    clients: new OidcClients(createGuardedFetch(createFindAddress(everywhere))),
    uses: openSingleUses(redis),
    proofs: new LoginProofs({ sealed, cookie: proofCookie, now: Date.now }),
    cookie: createHostCookie({ name: 'sluice_console_oidc', lifetime: oidcLifetime, tls }),
  });
}

function originsOf({ consoleApiUrl }: Config, baseUrl: string, files: readonly string[]): OtherOrigins {
  const api = consoleApiUrl === undefined ? [] : [new URL(consoleApiUrl).origin];
  // the page may have been opened by another host name, and still has to show files by their links
  return { api, files: [new URL(baseUrl).origin, ...files] };
}

/** Origins to which links to files lead besides the gateway, and redirects. */
async function originsOfFiles({ publicFilesUrl, s3, downloads }: Config): Promise<readonly string[]> {
  const origins = publicFilesUrl === undefined ? [] : [new URL(publicFilesUrl).origin];
  const linked = s3?.publicBucket === true && publicFilesUrl === undefined;
  if (s3 === undefined || !(linked || downloads === 'redirect')) return origins;
  // the SDK is loaded only where there is a bucket
  const { s3ObjectUrls } = await import('#objects/s3/s3-address.ts');
  return [...origins, new URL(s3ObjectUrls(s3)('file')).origin];
}
