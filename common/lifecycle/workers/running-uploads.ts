import type { UploadNews } from './open-uploads.ts';

/** Knows which uploads of this process may leave something behind when it dies. */
export interface RunningUploads {
  /** Before anything of an upload reaches the store. @param upload what the upload is known by here */
  begin(upload: object, objectKey: string): void;
  /** The upload is over, one way or the other, and has cleaned up; it may never have begun. */
  end(upload: object): void;
  readonly open: number;
  /**
   * Object keys of the uploads that this process, or another worker beside it, has open. Rejects when the supervisor does
   * not answer.
   */
  openKeys(): Promise<readonly string[]>;
  /** Resolves when no upload is open, or after so many milliseconds: answers which. */
  untilIdle(milliseconds: number): Promise<boolean>;
  /** Uploads that were not reported to the supervisor, because it did not keep up. */
  readonly unreported: number;
}

/** News that may be under way to a supervisor that does not read. */
const mostUnderWay = 1000;
/** Ends are no hurry: a key whose upload is over is looked at for nothing. */
const mostEnded = 256;
const endedWithin = 200;

/**
 * @param tell sends news to the process that cleans up after this one: what it was given must survive this process from
 * then on. Absent: there is nobody.
 * @param askOthers for the object keys of uploads that all workers have open
 */
export function createRunningUploads(
  tell?: (news: UploadNews, sent: () => void) => void,
  askOthers?: () => Promise<readonly string[]>,
): RunningUploads {
  const keys = new Map<object, string>();
  let ended: string[] = [];
  let underWay = 0;
  let unreported = 0;
  let timer: NodeJS.Timeout | null = null;
  let onIdle: () => void = () => {};
  const sent = (): void => {
    underWay--;
  };
  const send = (begun: readonly string[]): void => {
    if (tell === undefined) return;
    if (underWay >= mostUnderWay) {
      unreported += begun.length;
      // they stay open there, and cost a look
      if (ended.length >= mostEnded) ended = [];
      return;
    }
    underWay++;
    const news = { begun, ended };
    ended = [];
    tell(news, sent);
  };
  const flush = (): void => {
    timer = null;
    if (ended.length > 0) send([]);
  };
  return {
    begin(upload, objectKey) {
      keys.set(upload, objectKey);
      send([objectKey]);
    },
    end(upload) {
      const key = keys.get(upload);
      if (key === undefined) return;
      keys.delete(upload);
      if (keys.size === 0) onIdle();
      if (tell === undefined) return;
      ended.push(key);
      if (ended.length >= mostEnded) send([]);
      if (timer === null) timer = setTimeout(flush, endedWithin).unref();
    },
    get open() {
      return keys.size;
    },
    async openKeys() {
      return [...keys.values(), ...((await askOthers?.()) ?? [])];
    },
    untilIdle(milliseconds) {
      if (keys.size === 0) return Promise.resolve(true);
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), milliseconds);
        onIdle = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
    },
    get unreported() {
      return unreported;
    },
  };
}
