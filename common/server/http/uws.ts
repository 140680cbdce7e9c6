import type * as Uws from 'uWebSockets.js';
import { createRequire } from 'node:module';
import { nativeHeadBytes } from './head-limits.ts';

/**
 * Loads the native module. It reads the limit for a request's header block from the environment, once, while it
 * loads; the `structure` header can have several kilobytes, which exceeds upstream's default of 4 KiB.
 * Throws an Error with one clear sentence if there is no binary for this platform.
 */
export function loadUws(): typeof Uws {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(nativeHeadBytes);
  try {
    return createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
  } catch (cause) {
    const { platform, arch, version } = process;
    throw new Error(
      `uWebSockets.js has no binary that loads on this machine (${platform}-${arch}, Node ${version}): ` +
        'Sluice runs on Node 20, 22 and 24 on Linux with glibc or on macOS; see "Supported platforms" in README.md',
      { cause },
    );
  }
}
