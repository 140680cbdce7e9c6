import { createForm, type FileSpec, type Form } from './form.ts';
import { serveJob } from './serve-job.ts';
import { type SentUpload, type Target, UploadConnection } from './upload-connection.ts';

/** Uploads each file once, over this many connections, as fast as possible. */
export interface BurstJob {
  readonly target: Target;
  readonly files: readonly FileSpec[];
  readonly connections: number;
}

export interface BurstResult {
  readonly uploads: readonly SentUpload[];
  /** From the first byte sent to the last answer. */
  readonly milliseconds: number;
}

serveJob<BurstJob, BurstResult>(async ({ target, files, connections }) => {
  const forms = files.map(createForm);
  const open = await Promise.all(Array.from({ length: connections }, () => UploadConnection.open(target)));
  return {
    async run() {
      const begun = performance.now();
      const uploads: SentUpload[] = [];
      const rest = forms.values();
      await Promise.all(open.map((connection) => sendAll(target, connection, rest, uploads)));
      return { uploads, milliseconds: performance.now() - begun };
    },
  };
});

async function sendAll(
  target: Target,
  first: UploadConnection,
  forms: Iterable<Form>,
  uploads: SentUpload[],
): Promise<void> {
  let connection = first;
  for (const form of forms) {
    const upload = await connection.upload(form);
    uploads.push(upload);
    if (upload.problem === null) continue;
    // after an error the state of the connection is unknown
    connection.close();
    connection = await UploadConnection.open(target);
  }
  connection.close();
}
