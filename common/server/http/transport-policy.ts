import { type BlockList, isIP } from 'node:net';

/** A header by its lower-case name. */
interface Headers {
  header(name: string): string | undefined;
}

interface TransportRequest extends Headers {
  /** The address of the other end of the connection, as uWebSockets.js writes it. */
  readonly peer: string;
}

/**
 * Whether a request may be served: HTTPS is required (interface.md section 5, rule 3). Plain HTTP is only accepted from
 * this machine itself, or through a trusted proxy that reports HTTPS. A sender on this machine that forwards a request is
 * a proxy, and must be trusted.
 */
export function isSecure(
  request: TransportRequest,
  { tls, trustedProxies }: { readonly tls: boolean; readonly trustedProxies: BlockList | undefined },
): boolean {
  if (tls) return true;
  const { peer } = request;
  if (trustedProxies !== undefined && isTrusted(normaliseAddress(peer), trustedProxies)) {
    return request.header('x-forwarded-proto')?.trim().toLowerCase() === 'https';
  }
  return isLoopback(peer) && !isForwarded(request);
}

const forwardingHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** Whether a proxy forwarded the request. */
export function isForwarded(request: Headers): boolean {
  for (const name of forwardingHeaders) if (request.header(name) !== undefined) return true;
  return false;
}

/**
 * The sender of a request: the peer of the connection, or the client that trusted proxies name. Each proxy appends the
 * address of its own peer (X-Forwarded-For).
 * @param peer as in `TransportRequest`
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  trustedProxies: BlockList | undefined,
): string {
  let address = normaliseAddress(peer);
  if (trustedProxies === undefined) return address;
  const forwarded = forwardedFor?.split(',') ?? [];
  while (isTrusted(address, trustedProxies)) {
    const before = normaliseAddress(forwarded.pop()?.trim() ?? '');
    if (isIP(before) === 0) break;
    address = before;
  }
  return address;
}

function isTrusted(address: string, proxies: BlockList): boolean {
  return proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Normalizes IPv4 peers of a dual-stack socket to IPv4, and a long IPv6 loopback to `::1`. */
function normaliseAddress(peer: string): string {
  const mapped = /^(?:::ffff:|(?:0{1,4}:){5}ffff:)(.+)$/i.exec(peer)?.[1];
  if (mapped !== undefined) {
    if (isIP(mapped) === 4) return mapped;
    const [high, low] = mapped.split(':').map((part) => Number.parseInt(part, 16));
    if (high !== undefined && low !== undefined) {
      return [high >> 8, high & 255, low >> 8, low & 255].join('.');
    }
  }
  return /^(?:0{1,4}:){7}0{0,3}1$/.test(peer) ? '::1' : peer;
}

/** @param peer as in `TransportRequest` */
export function isLoopback(peer: string): boolean {
  if (peer === '127.0.0.1') return true;
  const address = normaliseAddress(peer);
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}
