import t from 'tap';
import { gridPreset } from '../../console/web/files/grid-preset.ts';
import type { NamedPresets } from '../../console/web/files/presets.ts';

const cover = (width: number, height = width) => ({ width, height, fit: 'cover' }) as const;
const inside = (width: number, height = width) => ({ width, height, fit: 'inside' }) as const;
const chosen = (ofServer: NamedPresets, presets: NamedPresets = {}) => gridPreset({ presets, ofServer });

t.test('the smallest preset that fills a tile is used, and a larger one for more pixels', async (t) => {
  t.equal(chosen({}), null);
  t.strictSame(chosen({ tiny: cover(64) }), { name: 'tiny', width: 64, larger: null }, 'better than an icon');
  t.strictSame(chosen({ thumb: cover(320), tiny: cover(64), page: inside(1600) }), {
    name: 'thumb',
    width: 320,
    larger: null,
  });
  t.match(chosen({ thumb: cover(320), card: cover(640), huge: cover(4000) }), {
    name: 'thumb',
    larger: { name: 'card', width: 640 },
  });
  t.match(chosen({ strip: cover(900, 100), box: inside(300) }), { name: 'box' }, 'both sides count');
  t.match(chosen({ box: inside(300), thumb: cover(300) }), { name: 'thumb' }, 'filled rather than fitted');
  t.match(chosen({ thumb: cover(320) }, { thumb: cover(100), card: cover(400) }), { name: 'card' });
});
