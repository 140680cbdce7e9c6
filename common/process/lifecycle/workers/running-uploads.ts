/** The uploads of this process that may leave something behind when it dies. */
export interface RunningUploads {
  /** To be called before anything of an upload reaches the store. @param upload the name of the upload here */
  begin(upload: object, objectKey: string): void;
  /** The upload is over, one way or the other, and has cleaned up; it may never have begun. */
  end(upload: object): void;
  readonly open: number;
  /** Object keys of the uploads that are open. */
  readonly openKeys: readonly string[];
  /** Resolves with true when no upload is open, or with false after the time. */
  untilIdle(milliseconds: number): Promise<boolean>;
}

export function createRunningUploads(): RunningUploads {
  const keys = new Map<object, string>();
  let onIdle: () => void = () => {};
  return {
    begin: (upload, objectKey) => void keys.set(upload, objectKey),
    end(upload) {
      if (keys.delete(upload) && keys.size === 0) onIdle();
    },
    get open() {
      return keys.size;
    },
    get openKeys() {
      return [...keys.values()];
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
  };
}
