/** What the file system store asks its callers to gather. Bytes. */
export const fileSystemPartBytes = 1024 * 1024;
