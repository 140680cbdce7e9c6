import { loadUws } from '#server/http/uws.ts';
import { failStart } from './command-line.ts';

/**
 * Ends the process with one sentence if the HTTP server has no binary for this platform. Call it before importing other
 * native modules, whose errors would be longer.
 */
export function requirePlatform(): void {
  try {
    loadUws();
  } catch (error) {
    failStart(error);
  }
}
