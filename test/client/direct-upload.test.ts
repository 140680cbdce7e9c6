/** Direct uploads of sluice-client, to a service and a bucket that fail in every way. */
import { File } from 'node:buffer';
import { openAsBlob, truncateSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type ConnectOptions, connect } from '#client/client.ts';
import { type UploadOptions, upload } from '#client/upload.ts';
import { mapStorage, sha256, someBytes } from '../services/client-files.ts';
import { lastingPort } from '../services/lasting-port.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { bucketError, type DirectServerOptions, directServer } from './direct-server.ts';
import { cut, page, refuse } from './scripted-server.ts';

const partBytes = 2 ** 16;
const bytes = someBytes(500_000);
const partCount = 8;

async function against(t: Test, options: DirectServerOptions = {}, connection: Partial<ConnectOptions> = {}) {
  const server = await directServer(t, options);
  const client = connect({ url: server.url, token: 't', project: 'shop', ...connection });
  const send = (more: UploadOptions = {}, source = bytes) =>
    upload(client, source, { partBytes, name: 'a.bin', ...more });
  const count = (step: string): number => server.steps().filter((each) => each.startsWith(step)).length;
  return { ...server, client, send, count };
}

t.test('the parts go to the bucket, three at once, with the headers of the plan alone', async (t) => {
  const { send, heard, count, underWay, uploads } = await against(t);
  const progress: number[] = [];
  const file = await send({ type: 'text/x', onProgress: ({ sent, size }) => progress.push(sent, size ?? 0) });
  t.equal(file.sha256, sha256(bytes));
  const asked = { name: 'a.bin', size: bytes.length, contentType: 'text/x', partBytes };
  t.strictSame(
    [...uploads.values()].map((each) => each.asked),
    [asked],
  );
  t.strictSame(['options', 'plan', 'put', 'complete'].map(count), [1, 1, partCount, 1]);
  t.equal(heard.length, partCount + 3);
  t.ok(underWay.most <= 3);
  for (const { step, headers } of heard) {
    t.equal(headers.authorization, step === 'put' ? undefined : 'Bearer t');
    if (step === 'put') t.equal(headers['content-type'], undefined);
  }
  const etags = JSON.parse(`${heard.at(-1)?.body}`).parts;
  t.equal(etags.length, partCount);
  t.ok(etags.every(({ etag }: { etag: string }) => /^[0-9a-f]{32}$/.test(etag)));
  t.equal(progress[0], 0);
  t.strictSame(progress.slice(-2), [bytes.length, bytes.length]);
});

t.test('which way a file goes', async (t) => {
  const { send, steps, client, heard } = await against(t);
  const went = async (work: Promise<unknown>): Promise<string> => {
    const before = heard.length;
    await work.catch(() => {});
    return steps()
      .slice(before, before + 2)
      .join();
  };
  const whole = { partBytes: 2 ** 20 };
  t.equal(await went(send({ direct: true, ...whole })), 'plan,put 1', 'direct, of one part');
  t.equal(await went(send({ direct: true, ...whole }, new Uint8Array())), 'plan,complete', 'without bytes');
  // the server of this test refuses the other ways
  t.notMatch(await went(send(whole)), /options|plan/, 'by default in one request');
  t.notMatch(await went(send({ direct: false })), /options|plan/);
  const streamOf = (): ReadableStream<Uint8Array> => new Blob([bytes]).stream();
  t.notMatch(await went(upload(client, streamOf(), { partBytes })), /options|plan/, 'a stream');
  await t.rejects(upload(client, streamOf(), { partBytes, direct: true }), TypeError);
  t.equal((await upload(client, streamOf(), { ...whole, direct: true })).sha256, sha256(bytes));
  const none = await against(t, { origin: null });
  await none.send().catch(() => {});
  t.notMatch(none.steps().join(), /plan/, 'the service does not offer it');
  t.equal(none.count('options'), 1);
});

t.test('the service wants larger parts', async (t) => {
  const { send, count } = await against(t, { partBytes: 300_000 });
  t.equal((await send()).sha256, sha256(bytes));
  t.equal(count('put'), 2);
});

t.test('more than a hundred parts', async (t) => {
  const { send, heard, count } = await against(t);
  t.equal((await send({ partBytes: 2000 })).sha256, sha256(bytes));
  t.equal(count('put'), 250);
  t.strictSame(
    heard.filter(({ step }) => step === 'parts').map(({ query }) => query),
    ['parts=101-200', 'parts=201-250'],
  );
});

t.test('an ETag that the bucket does not show is left out', async (t) => {
  const { send, heard, client } = await against(t);
  const hiding: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    if (init?.method !== 'PUT') return answer;
    return new Response(await answer.text(), { status: answer.status });
  };
  const file = await upload({ ...client, fetch: hiding }, bytes, { partBytes });
  t.equal(file.sha256, sha256(bytes));
  t.equal(`${heard.at(-1)?.body}`, '{}');
  t.ok(await send());
});

t.test('lost answers', async (t) => {
  const lose = async (step: string): Promise<void> => {
    const lost = { answer: cut, done: true };
    const { send, uploads, count } = await against(t, {
      fault: (asked) => (asked.step === step && asked.time === 1 && asked.number <= 1 ? lost : undefined),
    });
    t.equal((await send()).sha256, sha256(bytes), step);
    t.equal(uploads.size, step === 'plan' ? 2 : 1);
    // nobody knows whether all bytes of the part had come
    t.equal(count('put'), step === 'put' ? partCount + 1 : partCount);
    t.equal(count('state'), step === 'put' || step === 'complete' ? 1 : 0);
  };
  await Promise.all(['options', 'plan', 'put', 'complete'].map(lose));
});

t.test('a lost answer to the only part, whose key then exists', async (t) => {
  for (const isListed of [true, false]) {
    const { client, uploads, count } = await against(t, {
      fault: ({ step, time }) => {
        if (step !== 'put' || time > 2) return undefined;
        if (time === 1) return { answer: cut, done: isListed };
        return isListed ? undefined : { answer: bucketError(412, 'PreconditionFailed') };
      },
    });
    const stream = new Blob([bytes]).stream();
    const file = await upload(client, stream, { direct: true, partBytes: 2 ** 20 });
    t.equal(file.sha256, sha256(bytes));
    t.equal(uploads.size, 2);
    t.equal(count('put'), isListed ? 2 : 3);
  }
});

t.test('a part that the bucket lists, and has only a piece of', async (t) => {
  const lists = (upload: { parts: Map<number, { bytes: Buffer; etag: string }> } | undefined) =>
    upload?.parts.set(2, { bytes: Buffer.alloc(partBytes), etag: 'e' });
  for (const showsEtags of [true, false]) {
    const { client, uploads, heard } = await against(t, {
      fault: ({ step, number, time }) => {
        if (step !== 'put' || number !== 2 || time > 1) return undefined;
        lists([...uploads.values()][0]);
        return { answer: cut };
      },
    });
    const hiding: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      return init?.method === 'PUT' ? new Response(null, { status: answer.status }) : answer;
    };
    const file = await upload(showsEtags ? client : { ...client, fetch: hiding }, bytes, { partBytes });
    t.equal(file.sha256, sha256(bytes));
    t.equal(heard.filter(({ number }) => number === 2).length, 2);
  }
});

t.test('a part that was replaced meanwhile is sent again', async (t) => {
  const { send, uploads, count } = await against(t, {
    fault: ({ step, time }) => {
      if (step !== 'complete' || time > 1) return undefined;
      // by a request that was given up, and came late
      [...uploads.values()][0]?.parts.set(3, { bytes: Buffer.alloc(partBytes), etag: 'late' });
      return { answer: refuse(409, 'upload_conflict', { 'retry-after': '0' }) };
    },
  });
  t.equal((await send()).sha256, sha256(bytes));
  t.equal(count('put 3'), 2);
});

t.test('refusals that pass', async (t) => {
  const soon = { 'retry-after': '0' };
  const expired = bucketError(403, 'AccessDenied');
  const cases = {
    'busy service': {
      steps: ['plan', 'complete', 'options'],
      times: 2,
      answer: refuse(503, 'overloaded', soon),
    },
    'busy bucket': { steps: ['put'], times: 2, answer: bucketError(503, 'SlowDown') },
    'a part refused twice': { steps: ['put'], times: 2, answer: expired },
    'a part cut twice': { steps: ['put'], times: 2, answer: cut },
    'a proxy': { steps: ['put', 'complete'], times: 1, answer: page(502) },
    'a complete that misses a part': {
      steps: ['complete'],
      times: 1,
      answer: refuse(409, 'upload_conflict', soon),
    },
  };
  const pass = async ([name, { steps, times, answer }]: [string, (typeof cases)[keyof typeof cases]]) => {
    const { send, uploads } = await against(t, {
      fault: ({ step, number, time }) =>
        steps.includes(step) && time <= times && (number === 0 || number === 3) ? { answer } : undefined,
    });
    t.equal((await send()).sha256, sha256(bytes), name);
    t.equal(uploads.size, 1);
  };
  await Promise.all(Object.entries(cases).map(pass));
});

t.test('expired addresses are asked for again', async (t) => {
  let isExpired = true;
  const { send, heard, count } = await against(t, {
    fault: ({ step, number }) => {
      if (step === 'parts') isExpired = false;
      return step === 'put' && isExpired && number > 3
        ? { answer: bucketError(403, 'AccessDenied') }
        : undefined;
    },
  });
  t.equal((await send()).sha256, sha256(bytes));
  t.equal(count('state'), 1);
  const asked = heard.find(({ step }) => step === 'parts');
  t.match(asked?.query, /^parts=4-8$/);
});

t.test('what is refused for good', async (t) => {
  const denied = await against(
    t,
    { fault: ({ step }) => (step === 'put' ? { answer: bucketError(403, 'AccessDenied') } : undefined) },
    { retries: 1 },
  );
  t.match(await rejectionOf(denied.send()), {
    code: 'bucket_refused',
    status: 403,
    message: 'The bucket refused it: AccessDenied',
  });
  t.equal(denied.count('complete'), 0);
  const full = await against(t, {
    fault: ({ step }) => (step === 'plan' ? { answer: refuse(413, 'payload_too_large') } : undefined),
  });
  t.match(await rejectionOf(full.send()), { code: 'payload_too_large', status: 413 });
  t.equal(full.count('plan'), 1);
  const portal = await against(t, {
    fault: ({ step }) => (step === 'plan' ? { answer: page(200) } : undefined),
  });
  t.match(await rejectionOf(portal.send()), { code: 'not_sluice' });
});

t.test('a bucket that is down, while the service answers', async (t) => {
  const port = await lastingPort();
  const away: typeof fetch = (input, init) =>
    fetch(init?.method === 'PUT' ? `http://127.0.0.1:${port}/` : input, init);
  const { send, bucket, count } = await against(t, {}, { fetch: away, retries: 1 });
  t.match(await rejectionOf(send()), {
    code: 'bucket_unreachable',
    status: 0,
    message: `No answer from ${bucket}`,
  });
  t.equal(count('state'), 1);
  const { client } = await against(t, {}, { retries: 1 });
  const gone = { ...client, url: `http://127.0.0.1:${port}` };
  t.match(await rejectionOf(upload(gone, bytes, { partBytes })), { code: 'no_answer', status: 0 });
});

t.test('a file that changes on the disk meanwhile', async (t) => {
  const path = join(await temporaryFolder(t), 'a.bin');
  await writeFile(path, bytes);
  const { client, count } = await against(t, {
    fault: ({ step }) => {
      if (step === 'plan') truncateSync(path, 10);
      return undefined;
    },
  });
  t.match(await rejectionOf(upload(client, await openAsBlob(path), { partBytes })), {
    name: 'NotReadableError',
  });
  t.equal(count('complete'), 0);
});

t.test('it goes on after a stop, and after a reload', async (t) => {
  const { client, heard, count, uploads } = await against(t);
  const chosen = (): File => new File([bytes], 'film.mp4', { lastModified: 1 });
  const storage = mapStorage();
  const stop = new AbortController();
  const onProgress = ({ sent }: { sent: number }) =>
    sent >= 4 * partBytes && stop.abort(new Error('stopped'));
  const options = { storage, partBytes };
  t.match(await rejectionOf(upload(client, chosen(), { ...options, signal: stop.signal, onProgress })), {
    message: 'stopped',
  });
  t.equal(storage.kept.size, 1);
  t.equal(count('complete'), 0);
  // those that were aborted may still arrive
  const before = heard.findLastIndex(({ step }) => step !== 'put');
  const steps: number[] = [];
  const file = await upload(client, chosen(), { ...options, onProgress: ({ sent }) => steps.push(sent) });
  t.equal(file.sha256, sha256(bytes));
  t.ok((steps[0] ?? 0) >= 4 * partBytes);
  t.ok(count('put') <= partCount + 2);
  t.match(
    heard.slice(before + 1).find(({ step }) => step !== 'put'),
    { step: 'state', query: 'uploaded=true' },
  );
  t.equal(storage.kept.size, 0);
  t.equal(uploads.size, 1);
});

t.test('an upload that is gone begins anew', async (t) => {
  for (const [status, code] of [
    [404, 'not_found'],
    [410, 'upload_expired'],
  ] as const) {
    const { client, uploads, count } = await against(t, {
      fault: ({ step, time, number }) => {
        if (number === 1 && time === 1) return { answer: cut };
        if (number === 1 && time === 2) return { answer: bucketError(404, 'NoSuchUpload') };
        return step === 'state' && time === 1 ? { answer: refuse(status, code) } : undefined;
      },
    });
    const file = new File([bytes], 'film.mp4', { lastModified: 1 });
    const storage = mapStorage();
    t.equal((await upload(client, file, { storage, partBytes })).sha256, sha256(bytes));
    t.equal(uploads.size, 3, `${code}, and the bucket's`);
    t.equal(count('complete'), 1);
    t.equal(storage.kept.size, 0);
  }
});

t.test('by an upload link', async (t) => {
  const { heard, client, url } = await against(t);
  const [put, resumable, direct] = ['{name}', 'resumable', 'direct'].map(
    (way) => `${url}/_f_/shop/${way}?upload=sealed`,
  ) as [string, string, string];
  const link = { put, resumable, direct };
  const cutOnce: typeof fetch = (input, init) =>
    init?.method === 'PUT' && heard.length === 2 ? Promise.reject(new TypeError('cut')) : fetch(input, init);
  const file = await upload({ ...client, fetch: cutOnce }, bytes, { partBytes, link });
  t.equal(file.sha256, sha256(bytes));
  const asked = heard.filter(({ step }) => step !== 'put').map(({ step, query }) => `${step} ${query}`);
  t.match(asked, [
    'options ',
    'plan upload=sealed',
    'state upload=sealed&uploaded=true',
    /^parts upload=sealed&parts=\d-8$/,
    'complete upload=sealed',
  ]);
});
