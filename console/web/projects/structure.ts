import type { FieldType } from '../records/field-types.ts';
import type { Digits } from '../records/read-value.ts';

/** A record space as `GET /_projects_/{project}/spaces` answers it, as far as the pages use it. */

export interface Field extends Digits {
  readonly name: string;
  readonly slug: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly unique: boolean;
  readonly hashed: boolean;
  /** Of a FILE, as the API has it. */
  readonly many?: boolean;
  readonly normalize?: readonly string[];
  readonly description?: string;
  readonly comment?: string;
  readonly defaultValue?: unknown;
}

export interface Structure {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly fields: readonly Field[];
}

/** The settings of a structure beside its fields. Those that it leaves out stay as they are stored. */
export interface SpaceSettings {
  readonly webhooks?: { readonly onInsertUrl?: string | null; readonly onUpdateUrl?: string | null };
  readonly authOptions?: {
    readonly active: boolean;
    readonly space: string;
    readonly scope: readonly string[];
  };
}

export const systemKeys = ['id', 'createdAt', 'updatedAt'] as const;

/** Whether a field has a value of its own to begin with. */
export function hasDefault({ defaultValue }: Field): boolean {
  return defaultValue !== undefined && defaultValue !== null;
}
