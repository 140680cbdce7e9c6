import { notImplemented } from '../../common/errors/catalogue.ts';
import type { RunOperation } from './operation.ts';

/** A function of the published client that this service does not have. @param name as the client calls it */
export function missingFunction(name: string): RunOperation {
  return async ({ authenticate }) => {
    await authenticate();
    throw notImplemented(`The function ${name}`);
  };
}
