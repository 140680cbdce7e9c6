import { arrayOf, exactObject, named, nullable, type Schema, string } from '#kernel/json/schema.ts';
import { longestRules } from '../login/rules.ts';

/** Most bytes of a body with rules. */
export const longestRulesBody = 4 * longestRules;

export const rulesSchema: Schema = {
  type: 'object',
  additionalProperties: true,
  description: 'In the form that `PUT` takes',
};

/**
 * The answer of rules: as they were set, and what they mean.
 * @param args.all what the operations reach, in the plural
 * @param args.nothing what publishable tokens get without rules
 */
export function rulesAnswer(
  name: string,
  { all, nothing }: { readonly all: string; readonly nothing: string },
): Schema {
  const reach: Schema = {
    type: 'object',
    additionalProperties: {
      anyOf: [{ type: 'string', enum: ['all', 'none'] }, exactObject({ where: string })],
    },
    description: `The ${all} that each operation reaches: \`all\`, \`none\`, or those that match conditions`,
  };
  const description = `Null: no rules, and publishable tokens get ${nothing}`;
  return named(
    name,
    exactObject({
      rules: { ...nullable(rulesSchema), description },
      warnings: arrayOf(string),
      stranger: reach,
      user: reach,
    }),
  );
}
