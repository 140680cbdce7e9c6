import { address } from '../address.ts';
import { apiAddress, callApi, callJson } from '../api.ts';

export interface ExpiringLink {
  readonly link: string;
  readonly expiresAt: string;
}

/** @param expiresIn seconds, at most a week */
export function createLink(
  project: string,
  name: string,
  expiresIn: number,
  signal?: AbortSignal,
): Promise<ExpiringLink> {
  return callJson(address`/_f_/${project}/${name}/link`, { method: 'POST', json: { expiresIn }, signal });
}

const previewLifetime = 3600;
/** A link is replaced well before it expires. */
const usableMs = (previewLifetime / 2) * 1000;
const mostSources = 500;
const sources = new Map<string, { source: Promise<string>; until: number }>();

/** An address for <img>, <audio> and <video>, which can't send a token. Works whether files are public or private. */
export function mediaSource(project: string, name: string): Promise<string> {
  const file = address`/_f_/${project}/${name}`;
  const known = sources.get(file);
  if (known !== undefined && known.until > Date.now()) return known.source;
  // use the API's address that this page uses: its policy allows no other origin
  const source = createLink(project, name, previewLifetime).then(
    ({ link }) => apiAddress(file) + new URL(link).search,
  );
  source.catch(() => sources.delete(file));
  if (sources.size >= mostSources) sources.clear();
  sources.set(file, { source, until: Date.now() + usableMs });
  return source;
}

export async function readBeginning(
  project: string,
  name: string,
  { bytes, signal }: { bytes: number; signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await callApi(address`/_f_/${project}/${name}`, {
    headers: { range: `bytes=0-${bytes - 1}`, accept: '*/*' },
    signal,
  });
  return new Uint8Array(await response.arrayBuffer());
}
