import { hostname } from 'node:os';

/**
 * Whether a Host header names this machine. A web page of strangers can have its own name resolved to this machine (DNS
 * rebinding), and is then of the same origin as Sluice. Addresses, names without a dot and those under `localhost`
 * (RFC 6761 section 6.3) can't be theirs.
 * @param names others that are ours
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
