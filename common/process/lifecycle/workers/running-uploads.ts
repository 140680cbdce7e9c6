/** The uploads of this process that could leave something behind if it dies. */
export interface RunningUploads {
  /** Call it before anything of an upload reaches the store. @param upload the upload's name here */
  begin(upload: object, objectKey: string): void;
  /** The upload has ended, however, and has cleaned up; it may never have begun. */
  end(upload: object): void;
  readonly open: number;
  /** Object keys of the open uploads. */
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
