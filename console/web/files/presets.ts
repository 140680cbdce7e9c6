export const fits = {
  cover: 'Fills the box; the rest is cut off',
  inside: 'Fits into the box',
} as const;

/** A size of pictures; never larger than the original. */
export interface Preset {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly fit: keyof typeof fits;
}

export type NamedPresets = Readonly<Record<string, Preset>>;

/** GET /_projects_/{project}/files/presets */
export interface Presets {
  /** The project's own. */
  readonly presets: NamedPresets;
  /** Of the configuration; an own one of the same name replaces it. */
  readonly ofServer: NamedPresets;
}
