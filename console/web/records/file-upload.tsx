import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { StoredFile } from '../files/file-api.ts';
import { sendForm } from '../files/send-file.ts';
import { toastProblem } from '../parts/toast.tsx';
import type { Field } from '../projects/structure.ts';
import type { FormEntry } from './record-form.ts';

const uploadLimit = 600_000;

interface FileUploadProps {
  readonly project: string;
  readonly field: Field;
  readonly entry: FormEntry;
  readonly onChange: (entry: FormEntry) => void;
}

/** Uploads files, and enters their names into the form. */
export function FileUpload({ project, field, entry, onChange }: FileUploadProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const many = field.type === 'FILES';
  const upload = async (input: HTMLInputElement): Promise<void> => {
    const names: string[] = [];
    setBusy(true);
    try {
      for (const file of input.files ?? []) {
        const options = { signal: AbortSignal.timeout(uploadLimit), onProgress: () => {} };
        names.push((await sendForm<StoredFile>(project, file, options)).name);
      }
    } catch (thrown) {
      toastProblem(thrown);
    }
    setBusy(false);
    input.value = '';
    if (names.length > 0)
      onChange({ text: many ? withNames(entry.text, names) : (names[0] as string), none: false });
  };
  return (
    <input
      type="file"
      multiple={many}
      disabled={busy}
      aria-label={`Upload ${many ? 'files' : 'a file'} for ${field.name}`}
      onChange={(event) => void upload(event.currentTarget)}
    />
  );
}

/** A JSON list of names with more of them; a text that is none is replaced. */
function withNames(text: string, names: readonly string[]): string {
  let before: unknown;
  try {
    before = JSON.parse(text);
  } catch {
    before = [];
  }
  return JSON.stringify([...(Array.isArray(before) ? before : []), ...names], null, 2);
}
