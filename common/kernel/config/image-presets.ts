/** A named size of pictures. */
export interface ImagePreset {
  readonly name: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** inside: the whole picture fits into the box. cover: it fills the box, and what is beyond is cut off. */
  readonly fit: ImageFit;
}

export const imageFits = ['inside', 'cover'] as const;
export type ImageFit = (typeof imageFits)[number];

/** Of a server, and of each project. Strangers make at most this many pictures of a file, in each format. */
export const mostPresets = 20;
/** Pixels of a side. */
export const longestSide = 4096;
export const presetNamePattern = /^[a-z0-9][a-z0-9_-]{0,31}$/;
export const presetForm = `NAME=WIDTHxHEIGHT or NAME=WIDTHxHEIGHT:cover with sides of 1 to ${longestSide} pixels, such as thumb=320x320:cover`;

/** The preset of a text such as `thumb=320x320:cover`; undefined: it is none. */
export function parseImagePreset(text: string): ImagePreset | undefined {
  const [, name = '', width, height, fit = 'inside'] =
    /^([^=]+)=(\d{1,4})x(\d{1,4})(?::([a-z]+))?$/.exec(text) ?? [];
  const preset = { name, width: Number(width), height: Number(height), fit: fit as ImageFit };
  return presetNamePattern.test(name) && sizeProblem(preset) === null ? preset : undefined;
}

/** What is wrong with a size; null: nothing. */
export function sizeProblem({ width, height, fit }: Readonly<Record<string, unknown>>): string | null {
  for (const [side, pixels] of Object.entries({ width, height }))
    if (!Number.isInteger(pixels) || (pixels as number) < 1 || (pixels as number) > longestSide)
      return `${side} should be a whole number from 1 to ${longestSide}`;
  return (imageFits as readonly unknown[]).includes(fit) ? null : `fit should be ${imageFits.join(' or ')}`;
}
