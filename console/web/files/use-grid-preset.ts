import { isGranted } from '../granted.ts';
import { useLoad } from '../parts/load.ts';
import { type GridPreset, gridPreset } from './grid-preset.ts';
import { getPresets } from './presets-api.ts';

/**
 * The preset for pictures of a project's files. Null: there is none, or the session may not ask for it. Undefined: not
 * known yet.
 */
export function useGridPreset(project: string, hasFiles: boolean): GridPreset | null | undefined {
  const asks = hasFiles && isGranted('structure', { project }, 'all spaces');
  const { data, problem } = useLoad(
    async (signal) => (asks ? { preset: gridPreset(await getPresets(project, signal)) } : null),
    [project, asks],
  );
  if (data !== null) return data.preset;
  return asks && problem === null ? undefined : null;
}
