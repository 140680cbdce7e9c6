import { address } from '../address.ts';
import { callJson } from '../api.ts';
import { toProblem } from '../problem.ts';

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

function presetsOf(project: string): string {
  return address`/_projects_/${project}/files/presets`;
}

/** A project that does not exist yet has no presets. */
export async function getPresets(project: string, signal: AbortSignal): Promise<Presets> {
  try {
    return await callJson<Presets>(presetsOf(project), { signal });
  } catch (thrown) {
    if (toProblem(thrown).status !== 404) throw thrown;
    return { presets: {}, ofServer: {} };
  }
}

/** Replaces all presets of the project. */
export function setPresets(project: string, presets: NamedPresets, signal: AbortSignal): Promise<Presets> {
  return callJson(presetsOf(project), { method: 'PUT', json: presets, signal });
}
