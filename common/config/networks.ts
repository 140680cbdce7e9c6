import { BlockList, isIP } from 'node:net';
import { list, type Unexplained, variable } from './variable.ts';

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

const form = 'an IP address or a CIDR such as 10.0.0.0/8';

/** A variable that lists networks; undefined: none. */
export function networks(name: string): Unexplained<BlockList | undefined> {
  const { read } = list(name, [], { parse: parseNetwork, form });
  return variable(name, (text, problems) => {
    const found = read(text, problems);
    const block = new BlockList();
    for (const { address, prefix, family } of found) block.addSubnet(address, prefix, family);
    return found.length > 0 ? block : undefined;
  });
}

function parseNetwork(item: string): Network | undefined {
  const [address = '', bits, rest] = item.split('/');
  const version = isIP(address);
  if (version === 0 || rest !== undefined) return undefined;
  const widest = version === 4 ? 32 : 128;
  const prefix = bits === undefined ? widest : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (prefix < 0 || prefix > widest) return undefined;
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}
