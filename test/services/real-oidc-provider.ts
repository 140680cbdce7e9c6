import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export interface ProviderUser {
  readonly email?: string;
  readonly email_verified?: boolean;
}

export const client = { id: 'sluice', secret: 'the secret of the client, as the provider has it' };

/** `oidc-provider`, in which whoever comes is logged in as `user`. */
export async function startOidcProvider(t: { teardown(end: () => unknown): void }) {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const users = new Map<string, ProviderUser>();
  let user = '';
  let isRefused = false;
  return {
    issuer,
    users,
    /** Begins to serve. @param callbacks redirect URIs of the client */
    serve(...callbacks: string[]): void {
      const provider: Provider = new Provider(issuer, {
        clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: callbacks }],
        findAccount: (_, id) => ({
          accountId: id,
          claims: async () => ({ sub: id, ...users.get(id) }),
        }),
        claims: { openid: ['sub'], email: ['email', 'email_verified'] },
        features: { devInteractions: { enabled: false } },
        pkce: { required: () => true },
        cookies: { keys: ['a key of a test'] },
        interactions: { url: (_, { uid }) => `/interaction/${uid}` },
        async loadExistingGrant({ oidc }) {
          const grant = new provider.Grant({
            clientId: oidc.client?.clientId ?? '',
            accountId: oidc.session?.accountId ?? '',
          });
          grant.addOIDCScope('openid email');
          await grant.save();
          return grant;
        },
      });
      const answer = provider.callback();
      server.on('request', (request, response) => {
        if (!request.url?.startsWith('/interaction/')) return answer(request, response);
        const result = isRefused
          ? { error: 'access_denied', error_description: 'the user said no' }
          : { login: { accountId: user } };
        return provider.interactionFinished(request, response, result);
      });
    },
    logInAs(id: string, facts: ProviderUser = {}): void {
      isRefused = false;
      user = id;
      users.set(id, facts);
    },
    refuse(): void {
      isRefused = true;
    },
  };
}
