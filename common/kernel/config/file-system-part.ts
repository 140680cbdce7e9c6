/** Bytes that callers of the file system store gather for a write. */
export const fileSystemPartBytes = 1024 * 1024;
