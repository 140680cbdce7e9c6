import type { Preset, Presets } from './presets.ts';

/** Pixels of a tile of the grid, at least. */
const tilePixels = 240;
/** A larger picture, for screens with more pixels, has so many times the width. */
const larger = { least: 1.5, most: 4 } as const;

interface NamedPreset {
  readonly name: string;
  /** Pixels. */
  readonly width: number;
}

/** The presets for the pictures of a list or grid. */
export interface GridPreset extends NamedPreset {
  readonly larger: NamedPreset | null;
}

/** The smallest preset that fills a tile, or else the largest. Null: there is none. */
export function gridPreset({ presets, ofServer }: Presets): GridPreset | null {
  const all = Object.entries({ ...ofServer, ...presets })
    .map(([name, preset]) => ({ name, ...preset }))
    .sort((one, other) => areaOf(one) - areaOf(other) || one.fit.localeCompare(other.fit));
  const chosen = all.find(({ width, height }) => Math.min(width, height) >= tilePixels) ?? all.at(-1);
  if (chosen === undefined) return null;
  const { name, width, fit } = chosen;
  const next = all.find((preset) => {
    const times = preset.width / width;
    return preset.fit === fit && times >= larger.least && times <= larger.most;
  });
  return { name, width, larger: next === undefined ? null : { name: next.name, width: next.width } };
}

function areaOf({ width, height }: Preset): number {
  return width * height;
}
