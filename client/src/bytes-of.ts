/** What can be uploaded. A stream must yield bytes. */
export type Source = Blob | ReadableStream<Uint8Array> | Uint8Array | string;

/** The bytes of a source. A part can be read again until a later one is read. */
export interface Bytes {
  /** undefined: the stream has not ended yet. */
  size: number | undefined;
  /** Whether the bytes can be read again from the beginning. */
  readonly isRepeatable: boolean;
  part(from: number, most: number): Promise<Blob>;
  /** Cancels a stream. */
  close(reason?: unknown): void;
}

export function bytesOf(source: Source): Bytes {
  if (source instanceof ReadableStream) return bytesOfStream(source.getReader());
  // a Blob copies the bytes, so later changes of an array don't matter
  const blob = source instanceof Blob ? source : new Blob([source as string]);
  return {
    size: blob.size,
    isRepeatable: true,
    part: async (from, most) => blob.slice(from, from + most),
    close() {},
  };
}

function bytesOfStream(reader: ReadableStreamDefaultReader<Uint8Array>): Bytes {
  let buffered = new Blob([]);
  let start = 0;
  let closed: unknown;
  const bytes: Bytes = {
    size: undefined,
    isRepeatable: false,
    async part(from, most) {
      const left = buffered.slice(from - start);
      const pieces: (Blob | Uint8Array<ArrayBuffer>)[] = [left];
      let { size } = left;
      start = from;
      while (size < most && bytes.size === undefined) {
        const { done, value } = await reader.read();
        if (closed !== undefined) throw closed;
        if (done) bytes.size = start + size;
        else size += value.length;
        if (!done) pieces.push(value as Uint8Array<ArrayBuffer>);
      }
      buffered = new Blob(pieces);
      return buffered.slice(0, most);
    },
    close(reason) {
      closed = reason;
      reader.cancel(reason).catch(() => {});
    },
  };
  return bytes;
}
