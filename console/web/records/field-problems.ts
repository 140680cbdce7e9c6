import type { Field } from '../projects/structure.ts';

/** The API's problems by field; those of no field stay apart. */
export interface FieldProblems {
  readonly byField: ReadonlyMap<string, string>;
  readonly others: readonly string[];
}

/** @param problems the texts of an error's list `error`, such as `Body field: 'age' is required` */
export function fieldProblems(problems: readonly string[], fields: readonly Field[]): FieldProblems {
  const byField = new Map<string, string>();
  const others: string[] = [];
  for (const problem of problems) {
    const field = fields.find(
      ({ name }) => problem.includes(`ield: ${shown(name)}`) || problem.startsWith(`Field ${shown(name)}`),
    );
    if (field === undefined) others.push(problem);
    else byField.set(field.name, [byField.get(field.name), problem].filter(Boolean).join(' '));
  }
  return { byField, others };
}

/** As the service shows a name in its messages. */
function shown(name: string): string {
  return name.length > 100 ? `'${name.slice(0, 100)}…'` : `'${name}'`;
}
