import type { RunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import type { Handler, HttpRequest, HttpResponse } from '#server/http/http-types.ts';

/** Gets the cleanup that continues after a failed request; it never rejects. */
export type OnCleanup = (cleanup: Promise<void>) => void;

/** Counts an upload as under way until its cleanups have ended. */
export function trackUpload(
  { uploads }: { readonly uploads: RunningUploads },
  store: (request: HttpRequest, onCleanup: OnCleanup) => Promise<HttpResponse>,
): Handler {
  return async (request) => {
    // the answer does not wait for cleanups after a failure, but the upload is under way until they end
    const cleanups: Promise<void>[] = [];
    try {
      return await store(request, (cleanup) => cleanups.push(cleanup));
    } finally {
      if (cleanups.length === 0) uploads.end(request);
      else void Promise.allSettled(cleanups).then(() => uploads.end(request));
    }
  };
}
