/** The most bytes of a request line and its headers. RFC 6585 section 5: beyond it is a 431. */
export const maxHeadBytes = 64 * 1024;

/**
 * The native parser's own limit, beyond which it answers with a page of its own. It is higher, so that heads up to
 * twice our limit get our answer. A connection holds this much at most before its request is read.
 */
export const nativeHeadBytes = 2 * maxHeadBytes;

/** The most headers that the native parser takes. Beyond them it closes the connection. */
export const nativeHeaders = 98;
