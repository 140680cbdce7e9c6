/** Attacks with which one client could once slow down all others. Each rate is far above what was needed then. */
import { randomBytes } from 'node:crypto';
import * as structures from '../query/direct-store.ts';
import type { Attacker, Case } from './attacker.ts';
import { filterCases } from './filter-cases.ts';

type Work = () => Promise<void>;

/** The data of a case: many small records, a few large ones, users, and a file. */
export interface AttackFixture {
  readonly file: string;
}

const project = 'hostile';
const textStructure = (slug: string): string => structures.textStructure(slug, project);
const mebibyte = 1024 * 1024;
const json = { 'content-type': 'application/json' };
const rows = { structure: textStructure('rows') };

/** This many chunks of one byte each. */
function oneByteChunks(many: number): Buffer {
  return Buffer.from('1\r\n \r\n'.repeat(many));
}

/** Writes a piece repeatedly until the connection ends. Resolves then. */
async function flood(attacker: Attacker, socket: ReturnType<Attacker['open']>, piece: Buffer, every: number) {
  const ended = attacker.ended(socket);
  while (!socket.destroyed && !attacker.signal.aborted) {
    if (socket.writableLength < mebibyte) socket.write(piece);
    await attacker.pause(every);
  }
  await ended;
}

/** 1: bodies in chunks of one byte, 6 MB each. */
const smallChunks: Case = (attacker) =>
  attacker.keep(4, 500, () => {
    const head = ['POST /hostile/rows HTTP/1.1', `structure: ${rows.structure}`];
    return flood(attacker, attacker.open([...head, 'Transfer-Encoding: chunked']), oneByteChunks(1000), 100);
  });

/** 2: such bodies from strangers, on fifty connections. */
const strangersBodies: Case = (attacker) =>
  attacker.keep(50, 10_000, async () => {
    const head = ['POST /hostile/rows HTTP/1.1', 'Transfer-Encoding: chunked'];
    const socket = attacker.open(head, `Bearer ${randomBytes(32).toString('base64url')}`);
    socket.write(oneByteChunks(5000));
    await attacker.ended(socket);
  });

/** 3: small on the wire, large in memory. */
const jsonBombs: Case = (attacker) => {
  const objects = `[{"text":[${'{},'.repeat(5 * mebibyte)}{}]}]`;
  const numbers = `[${'{"text":"x"},'.repeat(700_000)}{"text":"x"}]`;
  return attacker.keep(1, 5000, async () => {
    for (const body of [objects, numbers]) {
      await attacker.ask('/hostile/rows', { method: 'POST', body, headers: { ...rows, ...json } });
    }
  });
};

/** 3: a valid body that takes long to parse. */
const largeBodies: Case = (attacker) => {
  const body = JSON.stringify(
    Array.from({ length: 40_000 }, (_, i) => ({ text: `${i} ${'x'.repeat(200)}` })),
  );
  return attacker.keep(1, 10_000, () =>
    attacker.ask('/hostile/rows', { method: 'POST', body, headers: { ...rows, ...json } }),
  );
};

/** 4 and 5: lists with a very slow reader. */
const slowReaders: Case = (attacker) =>
  attacker.keep(24, 200, async () => {
    const slug = Math.random() < 0.5 ? 'rows' : 'large';
    const socket = attacker.open([`GET /hostile/${slug} HTTP/1.1`, `structure: ${textStructure(slug)}`]);
    const ended = attacker.ended(socket);
    socket.pause();
    const sip = setInterval(() => socket.read(100), 1000);
    await Promise.race([ended, attacker.pause(40_000)]);
    clearInterval(sip);
    socket.destroy();
    await ended;
  });

/** 6: bodies that send a byte every five seconds. */
const drippingBodies: Case = (attacker) =>
  attacker.keep(24, 200, () => {
    const head = ['POST /hostile/rows HTTP/1.1', `structure: ${rows.structure}`];
    return flood(
      attacker,
      attacker.open([...head, `Content-Length: ${15 * mebibyte}`]),
      Buffer.from(' '),
      5000,
    );
  });

/** 7: reads without an index. */
const fullScans: Case = (attacker) =>
  attacker.keep(8, 250, () =>
    attacker.ask(`/hostile/rows/_single_?text=${Math.random()}`, { headers: rows }),
  );

/** 8: creating spaces, and reading missing ones. */
const manySpaces: Case = (attacker) => {
  let made = 0;
  return attacker.keep(2, 200, async () => {
    const slug = `space-${made++}`;
    const headers = { structure: textStructure(slug), ...json };
    await attacker.ask(`/hostile/never-${slug}`, { headers: { structure: textStructure(`never-${slug}`) } });
    await attacker.ask(`/hostile/${slug}/_single_`, { method: 'POST', body: '{"text":"x"}', headers });
  });
};

/** 9: made-up tokens and file names, and readiness checks, without an account. */
const strangersLooks: Case = (attacker) =>
  attacker.keep(4, 200, async () => {
    const madeUp = `Bearer ${randomBytes(32).toString('base64url')}`;
    await attacker.ask('/hostile/rows', { headers: rows }, madeUp);
    await attacker.ask(`/_f_/hostile/${crypto.randomUUID()}_a.bin`, {}, null);
    await attacker.ask('/readyz', {}, null);
  });

/** 10: downloads with a very slow reader. */
const slowDownloads =
  ({ file }: AttackFixture): Case =>
  (attacker) =>
    attacker.keep(100, 1000, async () => {
      const socket = attacker.open([`GET ${file} HTTP/1.1`]);
      const ended = attacker.ended(socket);
      socket.pause();
      await Promise.race([ended, attacker.pause(60_000)]);
      socket.destroy();
      await ended;
    });

/** 11: uploads in chunks of one byte. */
const smallUploads: Case = (attacker) =>
  attacker.keep(3, 1000, () => {
    const head = ['POST /_f_/hostile/upload HTTP/1.1', 'Content-Type: multipart/form-data; boundary=b'];
    const socket = attacker.open([...head, 'Transfer-Encoding: chunked']);
    const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
    socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
    return flood(attacker, socket, oneByteChunks(1000), 100);
  });

/** 16: passwords, by login and by conditions on a hashed field. */
const passwordGuesses: Case = (attacker) => {
  const structure = structures.passwordStructure('users', project);
  const resources = JSON.stringify({ mustExistSpaceStructures: [JSON.parse(structure)] });
  return attacker.keep(4, 250, async () => {
    const guess = Math.random().toString(36);
    await attacker.ask(`/hostile/users/_single_?text=ada&password=${guess}`, { headers: { structure } });
    await attacker.ask('/hostile/function/login', {
      method: 'POST',
      body: JSON.stringify({ text: `user ${Math.floor(Math.random() * 1000)}`, password: guess }),
      headers: { 'function-resources': resources, ...json },
    });
  });
};

/** 4: records of the greatest allowed size, written and read. */
const largeRecords: Case = (attacker) => {
  const body = JSON.stringify({ text: 'x'.repeat(1_000_000) });
  const headers = { structure: textStructure('large'), ...json };
  return attacker.keep(2, 2000, () =>
    attacker.ask('/hostile/large/_single_', { method: 'POST', body, headers }),
  );
};

/** An account's requests in flight, in the following cases. */
const inFlight = 12;
const anyText = (): string => Math.random().toString(36);

/** Lists by a field without an index: the engine reads all records each time. */
const unindexedFinds: Case = (attacker) =>
  attacker.keep(inFlight, 0, () => attacker.ask(`/hostile/rows?text=${anyText()}`, { headers: rows }));

function sortedPage(attacker: Attacker): Promise<void> {
  const page = 1 + Math.floor(Math.random() * 1000);
  const options = JSON.stringify({ sort: { by: 'text', order: 'desc' }, pagination: { limit: 20, page } });
  return attacker.ask('/hostile/rows', { headers: { ...rows, options } });
}

/** Pages of all records, sorted by a field without an index. */
const fullSorts: Case = (attacker) => attacker.keep(inFlight, 0, () => sortedPage(attacker));

/** All kinds of slow requests, from one account. */
const mixed: Case = (attacker) => {
  const records = JSON.stringify(Array.from({ length: 1000 }, () => ({ text: anyText().repeat(10) })));
  const file = randomBytes(5_000_000);
  const work: readonly Work[] = [
    () => attacker.ask(`/hostile/rows?text=${anyText()}`, { headers: rows }),
    () => attacker.ask(`/hostile/rows/_single_?text=${anyText()}`, { headers: rows }),
    () => sortedPage(attacker),
    () => {
      const query = `searchText=${anyText()}&searchableFields=text`;
      return attacker.ask(`/hostile/rows/search?${query}`, { headers: rows });
    },
    () => attacker.ask('/hostile/rows', { method: 'POST', body: records, headers: { ...rows, ...json } }),
    () => {
      const body = new FormData();
      body.set('file', new File([file], 'mixed.bin'));
      return attacker.ask('/_f_/hostile/upload', { method: 'POST', body });
    },
  ];
  return attacker.keep(inFlight, 0, () => (work[Math.floor(Math.random() * work.length)] as Work)());
};

/** Writes with webhooks to dead addresses, large and many small ones, and lists of their deliveries. */
const deadWebhooks: Case = async (attacker) => {
  const structure = structures.webhookStructure('calls', 'http://127.0.0.1:1/', project);
  const insert = (body: string, path = ''): Promise<void> =>
    attacker.ask(`/hostile/calls${path}`, { method: 'POST', body, headers: { structure, ...json } });
  const large = JSON.stringify({ text: 'x'.repeat(1_000_000) });
  const many = JSON.stringify(Array.from({ length: 20_000 }, () => ({ text: 'x' })));
  await Promise.all([
    attacker.keep(1, 2000, () => insert(large, '/_single_')),
    attacker.keep(1, 5000, () => insert(many)),
    attacker.keep(1, 2000, () => attacker.ask('/_webhooks_/deliveries?limit=500')),
  ]);
};

/** Uploads that send 900 KB and then stall until they are cut. */
const silentUploads: Case = (attacker) => {
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
  const bytes = Buffer.concat([Buffer.from(part), Buffer.alloc(900_000)]);
  return attacker.keep(200, 1000, async () => {
    const head = ['POST /_f_/hostile/upload HTTP/1.1', 'Content-Type: multipart/form-data; boundary=b'];
    const socket = attacker.open([...head, `Content-Length: ${mebibyte}`]);
    socket.write(bytes);
    await attacker.ended(socket);
  });
};

export function hostileCases(prepared: AttackFixture): Readonly<Record<string, Case>> {
  return {
    smallChunks,
    strangersBodies,
    jsonBombs,
    largeBodies,
    slowReaders,
    drippingBodies,
    fullScans,
    manySpaces,
    strangersLooks,
    slowDownloads: slowDownloads(prepared),
    smallUploads,
    passwordGuesses,
    largeRecords,
    unindexedFinds,
    fullSorts,
    mixed,
    deadWebhooks,
    silentUploads,
    ...filterCases,
  };
}
