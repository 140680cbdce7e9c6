/** What can be uploaded. A stream has bytes. */
export type Source = Blob | ReadableStream<Uint8Array> | Uint8Array | string;

/** A source that can be read again from an offset, until later bytes are asked for. */
export interface Bytes {
  /** undefined: the end of the stream has not come. */
  size: number | undefined;
  /** Whether they can be had from the beginning again. */
  readonly again: boolean;
  part(from: number, most: number): Promise<Blob>;
  /** Nothing more is wanted of a stream. */
  close(reason?: unknown): void;
}

export function bytesOf(source: Source): Bytes {
  if (source instanceof ReadableStream) return bytesOfStream(source.getReader());
  // the text, or what the bytes are now
  const blob = source instanceof Blob ? source : new Blob([source as string]);
  return {
    size: blob.size,
    again: true,
    part: async (from, most) => blob.slice(from, from + most),
    close() {},
  };
}

function bytesOfStream(reader: ReadableStreamDefaultReader<Uint8Array>): Bytes {
  let held = new Blob([]);
  let start = 0;
  let closed: unknown;
  const bytes: Bytes = {
    size: undefined,
    again: false,
    async part(from, most) {
      const left = held.slice(from - start);
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
      held = new Blob(pieces);
      return held.slice(0, most);
    },
    close(reason) {
      closed = reason;
      reader.cancel(reason).catch(() => {});
    },
  };
  return bytes;
}
