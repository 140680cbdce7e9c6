import { lookup, Resolver } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { FairShare } from '../limits/fair-share.ts';

/** Networks closed to addresses that accounts choose: local and private ones, and those that embed their addresses. */
const closed: readonly (readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['2001::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * Resolves and checks the address of each call, against SSRF. The connection goes to exactly the address that was checked,
 * so DNS rebinding does not help an attacker.
 */
export type FindAddress = (host: string) => Promise<Address>;

export class ClosedNetworkError extends Error {}

/** @param allowed networks that may be reached although they are private; undefined: none */
export function createFindAddress(allowed: BlockList | undefined, resolve = resolveAll): FindAddress {
  const refused = new BlockList();
  for (const [network, prefix, family] of closed) refused.addSubnet(network, prefix, family);
  const isOpen = ({ address, family }: Address): boolean => {
    const kind = family === 4 ? 'ipv4' : 'ipv6';
    return allowed?.check(address, kind) === true || !refused.check(address, kind);
  };
  return async (host) => {
    const addresses = await resolve(host.replace(/^\[(.*)\]$/, '$1'));
    const [first] = addresses;
    // one closed address among several is enough to refuse: which one is used would be chance
    if (first === undefined || !addresses.every(isOpen)) {
      throw new ClosedNetworkError('the address leads into a private network');
    }
    return first;
  };
}

/** Milliseconds for the answer of a name server, and the number of tries. */
const resolver = new Resolver({ timeout: 3000, tries: 2 });
/**
 * A look-up by the system blocks one of the threads that files and statements need, for as long as a name server stays
 * silent. So few run at once.
 */
const systemLookups = new FairShare({
  capacity: 2,
  queueLimit: 1000,
  full: 'too many names are being looked up',
});

async function resolveAll(host: string): Promise<readonly Address[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family: family as 4 | 6 }];
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = answers.flatMap((answer, index) =>
    answer.status === 'rejected'
      ? []
      : answer.value.map((address): Address => ({ address, family: index === 0 ? 4 : 6 })),
  );
  if (found.length > 0) return found;
  // names that only this machine knows, such as those in /etc/hosts
  const local = await systemLookups.run(() => lookup(host, { all: true }), undefined);
  return local.map(({ address, family }) => ({ address, family: family === 4 ? 4 : 6 }));
}
