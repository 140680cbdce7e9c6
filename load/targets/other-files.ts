import type { FileSession, StoredFiles } from '../files/file-session.ts';
import { performFile, type Upload } from '../files/perform-file.ts';
import { storeFiles } from '../files/store-files.ts';
import { ConnectionPool } from '../http/connection-pool.ts';
import type { MixRequest } from '../mix/mix.ts';
import type { Perform } from './performer-of.ts';
import type { Preparation, TargetAddress } from './target.ts';

interface OtherFilesOptions {
  readonly seed: number;
  readonly address: TargetAddress;
  /** The server's one way, whatever requests name. */
  readonly upload: Upload;
  /** What downloads choose from. */
  readonly files?: StoredFiles;
  /** Sent with each request. */
  readonly token?: string | null;
}

/** Files of a server that is no Sluice, over connections of their own. Close it. */
export class OtherFiles {
  readonly session: FileSession;
  readonly upload: Upload;
  readonly #pool: ConnectionPool;

  constructor({ seed, address, upload, files = {}, token = null }: OtherFilesOptions) {
    const pool = new ConnectionPool(address.url);
    this.session = { seed, url: new URL(address.url).origin, base: '', token, files, senderOf: () => pool };
    this.upload = upload;
    this.#pool = pool;
  }

  /** Stores what downloads of a mix choose from. */
  store(work: Preparation): Promise<StoredFiles> {
    return storeFiles(this.session, work, this.upload);
  }

  /** Prepares a request of a mix. */
  performerOf(request: MixRequest): Perform {
    if (request.kind !== 'upload' && request.kind !== 'download')
      throw new Error(`${request.name} is no request about files`);
    return (number, signal) => performFile(this.session, request, number, signal, this.upload);
  }

  close(): void {
    this.#pool.close();
  }
}

export async function withFiles<Value>(
  files: OtherFiles,
  run: (files: OtherFiles) => Promise<Value>,
): Promise<Value> {
  try {
    return await run(files);
  } finally {
    files.close();
  }
}
