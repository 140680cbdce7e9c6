import { address } from '../address.ts';
import { callJson } from '../api.ts';
import { toProblem } from '../problem.ts';
import type { NamedPresets, Presets } from './presets.ts';

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
