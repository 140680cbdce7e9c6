import { hostname } from 'node:os';

/**
 * Whether a Host header names this machine. A foreign web page can make its own name resolve to this machine (DNS
 * rebinding), and then has the same origin as Sluice. That is impossible for IP addresses, names without a dot and names
 * under `localhost` (RFC 6761 section 6.3).
 * @param names further names of this machine
 */
export function createKnownHosts(names: readonly string[]): (host: string) => boolean {
  const ours = new Set([...names, hostname()].map((name) => name.toLowerCase()));
  let latest = 'localhost';
  return (host) => {
    if (host === latest) return true;
    const name = host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
    const known = !name.includes('.') || /^\[|^[\d.]+$|\.localhost$/.test(name) || ours.has(name);
    if (known) latest = host;
    return known;
  };
}
