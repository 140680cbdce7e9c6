import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { syncDirectory } from '#kernel/durable-files/durable-directories.ts';
import { type Chunks, type ExportPlace, gathered, type JournalLine, journalName } from './export-place.ts';

/** An export in a folder. A file is written beside its place, and renamed when it is whole. */
export class FolderPlace implements ExportPlace {
  readonly name: string;
  #journal: FileHandle | null = null;

  /** @param root absolute path; made when something is written */
  constructor(root: string) {
    this.name = root;
  }

  async names(): Promise<readonly string[]> {
    const names = await readdir(this.name).catch(ifMissing([] as string[]));
    return names.filter((name) => name !== journalName && name !== `${journalName}.part`);
  }

  async size(path: string): Promise<number | null> {
    return (await stat(this.absolute(path)).catch(() => null))?.size ?? null;
  }

  read(path: string): AsyncIterable<Uint8Array> {
    return createReadStream(this.absolute(path));
  }

  async write(path: string, chunks: Chunks): Promise<void> {
    const target = this.absolute(path);
    await mkdir(dirname(target), { recursive: true });
    const file = await open(`${target}.part`, 'w');
    try {
      for await (const chunk of chunks) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${target}.part`, target);
    await syncDirectory(dirname(target));
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) await rm(this.absolute(name), { recursive: true, force: true });
  }

  /** Nothing: they are written again. */
  async removeUnfinished(): Promise<void> {}

  async *journal(): AsyncGenerator<JournalLine> {
    const file = this.absolute(journalName);
    const input = createReadStream(file, 'utf8');
    let number = 0;
    try {
      for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }))
        yield { file, number: ++number, text };
    } catch (error) {
      ifMissing(null)(error);
    } finally {
      input.destroy();
    }
  }

  async replaceJournal(start: Buffer, lines: Iterable<Buffer>): Promise<void> {
    await this.#journal?.close();
    this.#journal = null;
    await this.write(journalName, gathered(start, lines));
    this.#journal = await open(this.absolute(journalName), 'a');
  }

  async appendJournal(lines: readonly Buffer[]): Promise<void> {
    for (const line of lines) await this.#journal?.appendFile(line);
  }

  workFolder(): Promise<string> {
    return mkdtemp(this.absolute('verify-'));
  }

  async close(): Promise<void> {
    await this.#journal?.close();
    this.#journal = null;
  }

  absolute(path: string): string {
    return join(this.name, path);
  }
}

function ifMissing<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value;
    throw error;
  };
}
