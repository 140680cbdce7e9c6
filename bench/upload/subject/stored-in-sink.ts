import type { SentUpload } from '../load/send-upload.ts';
import type { Sink } from '../sink/start-sink.ts';
import type { Subject } from './subject.ts';

/** Compares answers and stored bytes. @param what whether the store gets the file, or the body as it was sent */
export function storedInSink(sink: Sink, what: 'file' | 'body'): Subject['problems'] {
  return async (uploads) => {
    const expected = uploads.flatMap((upload) => {
      if (upload.name === null) return [];
      const { name, size, crc32, bodySize, bodyCrc32 } = upload;
      return [what === 'file' ? { name, size, crc32 } : { name, size: bodySize, crc32: bodyCrc32 }];
    });
    return [...refusals(uploads), ...twice(expected), ...(await sink.problems(expected))];
  };
}

export function refusals(uploads: readonly SentUpload[]): string[] {
  return uploads.flatMap(({ problem }) => (problem === null ? [] : [problem]));
}

/** Two uploads with the same name would hide the loss of one. */
function twice(expected: readonly { name: string }[]): string[] {
  const names = expected.map(({ name }) => name);
  return new Set(names).size === names.length ? [] : ['two uploads were given the same name'];
}
