import { loadUws } from '#server/http/uws.ts';
import { failStart } from './command-line.ts';

/**
 * Ends the process with one sentence where the HTTP server has no binary. To be called before anything else with a
 * binary of its own is imported, whose complaint would be longer.
 */
export function requirePlatform(): void {
  try {
    loadUws();
  } catch (error) {
    failStart(error);
  }
}
