import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { shownPictures } from '../services/shown-pictures.ts';

t.test('the pictures that pages show are there', async (t) => {
  const stored = new Set(readdirSync(join(import.meta.dirname, '../../docs/images')));
  const shown = [...shownPictures()];
  t.ok(shown.length >= 6);
  t.strictSame(
    shown.filter((name) => !stored.has(name)),
    [],
  );
});
