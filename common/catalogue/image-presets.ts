import {
  type ImagePreset,
  imageFits,
  longestSide,
  mostPresets,
  presetNamePattern,
  sizeProblem,
} from '#kernel/config/image-presets.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { exactObject, type Schema } from '#kernel/json/schema.ts';

/** Presets as JSON: sizes by their names. */
export type PresetSizes = Readonly<Record<string, Omit<ImagePreset, 'name'>>>;

const side = { type: 'integer', minimum: 1, maximum: longestSide, description: 'Pixels' } as const;

/** Of `PresetSizes`. */
export const presetsSchema = {
  type: 'object',
  maxProperties: mostPresets,
  propertyNames: { pattern: presetNamePattern.source },
  additionalProperties: exactObject(
    {
      width: side,
      height: side,
      fit: {
        type: 'string',
        enum: [...imageFits],
        description: 'inside: the whole picture fits into the box; cover: it fills the box, and is cut',
      },
    },
    { optional: ['fit'] },
  ),
} as const satisfies Schema;

/** Reads presets. Adds what is wrong with them to `problems`. */
export function readImagePresets(input: unknown, problems: string[]): readonly ImagePreset[] {
  if (!isObject(input)) {
    problems.push('presets should be an object with a size for each name');
    return [];
  }
  const entries = Object.entries(input);
  if (entries.length > mostPresets)
    problems.push(`there are ${entries.length} presets; there should be ${mostPresets} at most`);
  return entries.slice(0, mostPresets).flatMap(([name, size]) => {
    const problem = problemOf(name, size);
    if (problem !== null) problems.push(`preset ${shownName(name)}: ${problem}`);
    const { width, height, fit = 'inside' } = (size ?? {}) as ImagePreset;
    return problem === null ? [{ name, width, height, fit }] : [];
  });
}

function problemOf(name: string, size: unknown): string | null {
  if (!presetNamePattern.test(name))
    return 'the name should have 1 to 32 characters of a-z 0-9 _ -, and begin with a letter or digit';
  if (!isObject(size)) return 'it should be an object with width and height';
  const { width, height, fit = 'inside', ...others } = size;
  const [other] = Object.keys(others);
  return other === undefined ? sizeProblem({ width, height, fit }) : `${shownName(other)} is not known`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function presetSizes(presets: readonly ImagePreset[]): PresetSizes {
  return Object.fromEntries(presets.map(({ name, width, height, fit }) => [name, { width, height, fit }]));
}
