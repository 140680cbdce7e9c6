import { join } from 'node:path';
import { configurationPage } from './configuration-page.ts';
import { errorsPage } from './errors-page.ts';

const docs = join(import.meta.dirname, '..');

/** The pages that are made from the code, and where they are. */
export function generatedPages(): readonly { readonly path: string; readonly text: string }[] {
  return [
    { path: join(docs, 'configuration.md'), text: configurationPage() },
    { path: join(docs, 'errors.md'), text: errorsPage() },
  ];
}
