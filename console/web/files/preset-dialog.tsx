import type { JSX } from 'preact';
import { NameField, SelectField, TextField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { toast } from '../parts/toast.tsx';
import { Problem } from '../problem.ts';
import { fits, type Preset } from './presets.ts';
import { getPresets, setPresets } from './presets-api.ts';

interface PresetDialogProps {
  readonly project: string;
  /** Null: a new one. */
  readonly preset: (Preset & { readonly name: string }) | null;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

export function PresetDialog({ project, preset, onSaved, onClose }: PresetDialogProps): JSX.Element {
  const { values, text } = useFields({
    name: preset?.name ?? '',
    width: String(preset?.width ?? ''),
    height: String(preset?.height ?? ''),
    fit: preset?.fit ?? 'cover',
  });
  const send = async (signal: AbortSignal): Promise<void> => {
    const { name } = values;
    const changed = presetOf(values);
    // what others saved meanwhile stays
    const { presets } = await getPresets(project, signal);
    const { [preset?.name ?? '']: before, ...others } = presets;
    if (Object.hasOwn(others, name)) throw new Problem(`The project has a preset ${name} already.`);
    await setPresets(project, { ...others, [name]: changed }, signal);
    toast(before === undefined ? 'Preset created.' : 'Preset changed.');
    onSaved();
    onClose();
  };
  return (
    <FormDialog
      title={preset === null ? 'New preset' : `Change ${preset.name}`}
      verb={preset === null ? 'Create the preset' : 'Change the preset'}
      {...{ send, onClose }}
    >
      <NameField
        autoFocus
        mono
        label="Name"
        hint="In the address of a picture: ?preset=NAME. Small letters, digits, - and _."
        maxLength={32}
        {...text('name')}
      />
      <TextField required label="Width" hint="Pixels" inputMode="numeric" maxLength={5} {...text('width')} />
      <TextField
        required
        label="Height"
        hint="Pixels"
        inputMode="numeric"
        maxLength={5}
        {...text('height')}
      />
      <SelectField
        label="Picture"
        hint="It is never enlarged."
        options={Object.entries(fits)}
        {...text('fit')}
      />
    </FormDialog>
  );
}

const mostPixels = 4096;

interface SentPreset {
  readonly name: string;
  readonly width: string;
  readonly height: string;
  readonly fit: string;
}

/** Throws a Problem with a line for each value that can't be. */
function presetOf({ name, width, height, fit }: SentPreset): Preset {
  const details: string[] = [];
  if (!/^[a-z0-9][a-z0-9_-]{0,31}$/.test(name))
    details.push(
      'The name should have 1 to 32 small letters, digits, - and _, and begin with a letter or digit.',
    );
  const pixels = (label: string, text: string): number => {
    const number = /^\d+$/.test(text.trim()) ? Number(text) : 0;
    if (number < 1 || number > mostPixels)
      details.push(`The ${label} should be a whole number from 1 to ${mostPixels}.`);
    return number;
  };
  const size = { width: pixels('width', width), height: pixels('height', height) };
  if (details.length > 0) throw new Problem('The preset is not saved:', { details });
  return { ...size, fit: fit === 'inside' ? 'inside' : 'cover' };
}
