import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

const typeA = 1;
const secondsToLive = 1;

/**
 * Answers for a few names, as a container engine's name service does (RFC 1035 section 4): A records, and nothing else.
 * @param addresses the IPv4 addresses of each name
 */
export async function startNameServer(addresses: ReadonlyMap<string, readonly string[]>) {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query);
    const found = type === typeA ? (addresses.get(name) ?? []) : [];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // a response, with recursion; NXDOMAIN for names that are not known
    header.writeUInt16BE(addresses.has(name) ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(found.length, 6);
    const records = found.map((address) =>
      Buffer.from([
        // the name is the one at offset 12; class IN
        ...[0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, secondsToLive, 0, 4],
        ...address.split('.').map(Number),
      ]),
    );
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: (socket.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}
