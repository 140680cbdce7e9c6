import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Config } from '#kernel/config/read-config.ts';

type AddressConfig = Pick<Config, 'host' | 'tls' | 'trustedProxies'>;

/** The server's base URL on this machine. Without trailing slash. */
export function listenedUrl(config: AddressConfig, port: number): string {
  const own = { '0.0.0.0': '127.0.0.1', '::': '::1' }[config.host];
  return urlOf(config, own ?? config.host, port);
}

/** The text after that URL at start: how other machines reach the server, or what they need for it. Empty: they can't. */
export function reachText(config: AddressConfig, port: number): string {
  const { host, tls, trustedProxies } = config;
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return '';
  const addresses = others(config, port)
    .map((url) => `on the network: ${url}\n`)
    .join('');
  if (tls !== undefined) return addresses;
  const wanted = 'TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES with the proxy that terminates HTTPS';
  const note =
    trustedProxies === undefined
      ? `Plain HTTP from other machines is refused (403 https_required): set ${wanted}\n`
      : 'Plain HTTP is served to this machine and to TRUSTED_PROXIES\n';
  return addresses + note;
}

function others(config: AddressConfig, port: number): string[] {
  if (config.host !== '0.0.0.0' && config.host !== '::') return [];
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  return addresses
    .filter(
      ({ internal, family, scopeid }) =>
        !internal && (family === 'IPv4' || (config.host === '::' && !scopeid)),
    )
    .map(({ address }) => urlOf(config, address, port));
}

function urlOf({ tls }: AddressConfig, host: string, port: number): string {
  return `${tls === undefined ? 'http' : 'https'}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
