import type { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import type { HttpRequest, StreamBody } from '#server/http/http-types.ts';

/** Reads once the download has a slot, which it holds until the last byte is taken. */
export function readInTurn(
  downloads: ReaderSlots,
  owner: string,
  { signal }: HttpRequest,
  read: () => AsyncIterable<Uint8Array>,
): Pick<StreamBody, 'chunks' | 'cut'> {
  const cut = new AbortController();
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    const slot = await downloads.take(signal, owner);
    slot.onCut = () => {
      cut.abort(new Error('the download held up others'));
      slot.release();
    };
    try {
      for await (const chunk of read()) {
        yield chunk;
        slot.sent(chunk.byteLength);
      }
    } finally {
      slot.release();
    }
  }
  return { chunks: chunks(), cut: cut.signal };
}
