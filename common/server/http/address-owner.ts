import { isIP } from 'node:net';

/** The sender behind an address. An IPv6 client usually has 2^64 addresses, which count as one (RFC 6177). */
export function addressOwner(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const behind = tail === undefined ? [] : tail.split(':');
  while (groups.length + behind.length < 8) groups.push('0');
  return [...groups, ...behind]
    .slice(0, 4)
    .map((group) => Number.parseInt(`0${group}`, 16).toString(16))
    .join(':');
}
