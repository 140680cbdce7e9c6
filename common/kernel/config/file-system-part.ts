/** Bytes that callers of the file system store buffer for each write. */
export const fileSystemPartBytes = 1024 * 1024;
