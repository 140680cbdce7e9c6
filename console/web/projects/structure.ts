/** A record space as `GET /_projects_/{project}/spaces` answers it, as far as the pages use it. */

export const fieldTypes = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT'] as const;
export type FieldType = (typeof fieldTypes)[number];

export interface Field {
  readonly name: string;
  readonly slug: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly unique: boolean;
  readonly hashed: boolean;
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

export const systemKeys = ['id', 'createdAt', 'updatedAt'] as const;

/** As the published client makes slugs: `firstName` becomes `first-name`. */
export function trainCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The body of set-structure that changes these fields. The service leaves alone what it does not name. */
export function structureBody({ name, description }: Structure, fields: readonly Field[]): string {
  return JSON.stringify({ name, description, recordStructure: fields });
}

/** Whether a field has a value of its own to begin with. */
export function hasDefault({ defaultValue }: Field): boolean {
  return defaultValue !== undefined && defaultValue !== null;
}
