import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { configurationPage } from './configuration-page.ts';
import { errorsPage } from './errors-page.ts';
import { limits, liveLimits } from './limits.ts';
import { limitsPage } from './limits-page.ts';

const makers = {
  'configuration.md': configurationPage,
  'errors.md': errorsPage,
  'api.md': (page: string) => limitsPage(page, limits),
  'live.md': (page: string) => limitsPage(page, liveLimits),
};

/** The pages whose tables are made from the code, and where they are. */
export function generatedPages(): readonly {
  readonly path: string;
  readonly stored: string;
  readonly text: string;
}[] {
  return Object.entries(makers).map(([name, make]) => {
    const path = join(import.meta.dirname, '..', name);
    const stored = readFileSync(path, 'utf8');
    return { path, stored, text: make(stored) };
  });
}
