import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { client } from './real-oidc-provider.ts';

type Token = string | Promise<string>;

/** A provider that sends whatever ID token a test makes: no real one would. */
export async function startFalseProvider(t: { teardown(end: () => unknown): void }) {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const other = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' };
  let token: () => Token = () => '';
  let discovered: object = {};
  let raw: string | null = null;
  let requests = 0;
  const server = createServer(async (request, response) => {
    requests++;
    const send = (value: unknown): void => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    };
    if (raw !== null) return void response.end(raw);
    if (request.url === '/.well-known/openid-configuration')
      return send({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...discovered,
      });
    if (request.url === '/jwks') return send({ keys: [jwk] });
    if (request.url === '/token')
      return send({ access_token: 'x', token_type: 'Bearer', id_token: await token() });
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const now = (): number => Math.floor(Date.now() / 1000);
  const claims = (nonce: string, more: JWTPayload = {}): JWTPayload => ({
    ...{ iss: issuer, aud: client.id, sub: 'ada', email: 'ada@example.com', email_verified: true, nonce },
    ...{ iat: now(), exp: now() + 60 },
    ...more,
  });
  return {
    issuer,
    now,
    claims,
    requests: () => requests,
    jwk,
    signed: (payload: JWTPayload, key = privateKey): Promise<string> =>
      new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'key' }).sign(key),
    byAnother: (payload: JWTPayload): Promise<string> =>
      new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'key' }).sign(other.privateKey),
    /** HS256 with the public key as the secret, as careless libraries accept it. */
    byPublicKey: (payload: JWTPayload): Promise<string> =>
      new SignJWT(payload)
        .setProtectedHeader({ alg: 'HS256', kid: 'key' })
        .sign(Buffer.from(JSON.stringify(jwk))),
    unsigned: (payload: JWTPayload): string =>
      `${[{ alg: 'none' }, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`,
    answerWith(make: () => Token): void {
      token = make;
    },
    /** Changes what discovery says. */
    discover(change: object): void {
      discovered = change;
    },
    /** Null: answers as it should. */
    answerAllWith(text: string | null): void {
      raw = text;
    },
  };
}
