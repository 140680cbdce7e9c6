/** Where it is, and who asks. */
interface Gateway {
  readonly baseUrl: string;
  readonly token: string;
}

const tus = { 'tus-resumable': '1.0.0' };
const project = '/_f_/kill';

const authorized = ({ token }: Gateway) => ({ authorization: `Bearer ${token}` });

/** Begins a tus upload. @returns the path of the upload, at any gateway */
export async function beginUpload(
  at: Gateway,
  length: number,
  { fileName = 'file', concat }: { readonly fileName?: string; readonly concat?: 'partial' } = {},
): Promise<string> {
  const answer = await fetch(`${at.baseUrl}${project}/resumable`, {
    method: 'POST',
    headers: {
      ...tus,
      ...authorized(at),
      'upload-length': `${length}`,
      ...named(fileName),
      ...(concat && { 'upload-concat': concat }),
    },
  });
  return answer.headers.get('location') as string;
}

/** Joins partial uploads. @returns the answer, with the file as JSON */
export async function joinUploads(
  at: Gateway,
  paths: readonly string[],
  fileName: string,
): Promise<Response> {
  return fetch(`${at.baseUrl}${project}/resumable`, {
    method: 'POST',
    headers: {
      ...tus,
      ...authorized(at),
      ...named(fileName),
      'upload-concat': `final;${paths.join(' ')}`,
    },
  });
}

/** NaN: the gateway does not know. */
export async function offsetAt(at: Gateway, path: string): Promise<number> {
  const answer = await fetch(at.baseUrl + path, { method: 'HEAD', headers: { ...tus, ...authorized(at) } });
  return answer.status === 200 ? Number(answer.headers.get('upload-offset')) : Number.NaN;
}

/** Sends the rest in chunks of some size. @returns the status of the last answer */
export async function sendRest(
  at: Gateway,
  path: string,
  bytes: Buffer<ArrayBuffer>,
  { from = 0, chunk }: { readonly from?: number; readonly chunk: number },
): Promise<number> {
  let status = 204;
  for (let offset = from; offset < bytes.byteLength; offset += chunk) {
    const headers = {
      ...tus,
      ...authorized(at),
      'upload-offset': `${offset}`,
      'content-type': 'application/offset+octet-stream',
    };
    const body = bytes.subarray(offset, offset + chunk);
    const answer = await fetch(at.baseUrl + path, { method: 'PATCH', headers, body });
    status = answer.status;
    await answer.text();
    if (!answer.ok) return status;
  }
  return status;
}

export interface UploadedFile {
  readonly name: string;
  readonly s3Link: string;
  readonly sha256?: string;
}

/** The file that an upload became. */
export async function fileOf(at: Gateway, path: string): Promise<UploadedFile> {
  const answer = await fetch(at.baseUrl + path, { headers: authorized(at) });
  return (await answer.json()) as UploadedFile;
}

/** All files of the project of these uploads. */
export async function filesAt(at: Gateway): Promise<readonly UploadedFile[]> {
  const answer = await fetch(`${at.baseUrl}${project}?limit=200`, { headers: authorized(at) });
  return ((await answer.json()) as { files: UploadedFile[] }).files;
}

function named(fileName: string): Record<string, string> {
  return { 'upload-metadata': `filename ${Buffer.from(fileName).toString('base64')}` };
}
