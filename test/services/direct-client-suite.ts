import { File } from 'node:buffer';
import type { Test } from 'tap';
import type { Client } from '#client/client.ts';
import { uploadLink } from '#client/files.ts';
import { upload } from '#client/upload.ts';
import { mapStorage, sha256, someBytes } from './client-files.ts';
import type { Sluice } from './start-sluice.ts';

/** The smallest part of S3. */
export const partBytes = 5 * 2 ** 20;
export const bytes = someBytes(3 * partBytes + 1000);
export const chosen = (): File => new File([bytes], 'film.mp4', { type: 'video/mp4', lastModified: 1 });

export async function read(sluice: Sluice, file: { readonly name: string }): Promise<string> {
  const headers = { authorization: `Bearer ${sluice.token}` };
  const answer = await fetch(`${sluice.baseUrl}/_f_/files/${file.name}`, { headers });
  return sha256(new Uint8Array(await answer.arrayBuffer()));
}

/** Direct uploads of sluice-client to a server, whatever its store. */
export async function directClientSuite(t: Test, sluice: Sluice, client: Client): Promise<void> {
  const file = await upload(client, chosen(), { partBytes, direct: true });
  t.match(file, { originalName: 'film.mp4', contentType: 'video/mp4', size: bytes.length });
  t.equal(await read(sluice, file), sha256(bytes));

  const small = await upload(client, 'hello', { name: 'größe.txt', direct: true });
  t.match(small, { originalName: 'größe.txt', contentType: 'text/plain', size: 5 });
  t.equal(await read(sluice, small), sha256(Buffer.from('hello')));
  t.match(await upload(client, new Blob([]), { name: 'empty.txt', direct: true }), { size: 0 });

  const storage = mapStorage();
  const stop = new AbortController();
  const onProgress = ({ sent }: { sent: number }) => sent >= partBytes && stop.abort(new Error('stopped'));
  const options = { partBytes, direct: true, storage };
  await t.rejects(upload(client, chosen(), { ...options, signal: stop.signal, onProgress }), {
    message: 'stopped',
  });
  t.equal(storage.kept.size, 1);
  const steps: number[] = [];
  const resumed = await upload(client, chosen(), { ...options, onProgress: ({ sent }) => steps.push(sent) });
  t.equal(await read(sluice, resumed), sha256(bytes));
  t.ok((steps[0] as number) >= partBytes);
  t.equal(storage.kept.size, 0);

  const link = await uploadLink(client, { expiresIn: 60, type: 'video/', times: 1 });
  const stranger = { ...client, token: '' };
  t.equal(
    await read(sluice, await upload(stranger, chosen(), { partBytes, direct: true, link })),
    sha256(bytes),
  );
  await t.rejects(upload(stranger, chosen(), { partBytes, direct: true, link }), { code: 'link_refused' });
}
