import { OidcClients } from '#auth/oidc-clients.ts';
import { createSealedTexts } from '#auth/sealed-texts.ts';
import { createGuardedFetch } from '#kernel/http-client/guarded-fetch.ts';
import { createFindAddress } from '#kernel/http-client/network-guard.ts';
import { createHostCookie } from '#server/http/host-cookie.ts';
import type { Route } from '#server/http/http-types.ts';
import { callbackPath, loginLifetime, OidcLogins, startPath } from './login/oidc-logins.ts';
import { OidcSettingsTable } from './login/oidc-settings.ts';
import type { QueryEnvironment } from './query-environment.ts';
import type { ReadingParts } from './reading-parts.ts';

/** Logins by OpenID Connect, and their settings. */
export function oidcParts(
  { catalogue, config, database, store, uses, baseUrl, now, log }: QueryEnvironment,
  keys: ReadingParts['keys'],
) {
  const sealed = createSealedTexts(keys);
  const oidcSettings = new OidcSettingsTable({ db: store.db, database, sealed });
  const oidc = new OidcLogins({
    ...{ catalogue, settings: oidcSettings, sealed, uses, baseUrl, now, log },
    clients: new OidcClients(createGuardedFetch(createFindAddress(config.webhookPrivateNetworks))),
    cookie: createHostCookie({
      name: 'sluice_oidc',
      lifetime: loginLifetime,
      tls: config.tls !== undefined,
    }),
  });
  return { oidc, oidcSettings };
}

/** The steps that a browser opens. They need no token, and are no part of the description of the API. */
export function oidcRoutes(oidc: OidcLogins): Route[] {
  return [
    {
      ...{ operation: 'openOidcLogin', method: 'GET', path: startPath, withoutCors: true },
      handler: (request) => oidc.open(request),
    },
    {
      ...{ operation: 'finishOidcLogin', method: 'GET', path: callbackPath, withoutCors: true },
      handler: (request) => oidc.callback(request),
    },
  ];
}
