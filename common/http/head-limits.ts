/** The most that a request line and its headers may have. RFC 6585 section 5: beyond it is a 431. */
export const maxHeadBytes = 64 * 1024;

/**
 * The native parser's own limit, beyond which it answers a page of its own. It is higher, so that what exceeds ours by less
 * than as much again gets our answer. A connection holds so much at most before its request is read.
 */
export const nativeHeadBytes = 2 * maxHeadBytes;
