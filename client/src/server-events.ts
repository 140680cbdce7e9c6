/**
 * Parses server-sent events (HTML, section 9.2) as the service writes them: lines end with LF, and data is one line. Each
 * event is an object of its fields. The last may lack its end: it says when to reconnect.
 * @param read reads the next bytes of the stream
 */
export async function* serverEvents(
  read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>,
): AsyncGenerator<{ readonly [Field in string]?: string }, void, undefined> {
  const decoder = new TextDecoder();
  for (let rest = ''; ; ) {
    const { done, value } = await read();
    if (done) {
      const [, retry] = /^retry: (\d+)$/m.exec(rest) ?? [];
      if (retry) yield { retry };
      return;
    }
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop() as string;
    for (const block of blocks)
      yield Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/, 2)));
  }
}
