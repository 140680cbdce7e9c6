import { type ReadVariable, readVariables } from './describing-reader.ts';
import { type VariableGroup, variableGroups } from './variables.ts';
import { wrapText } from './wrap-text.ts';

/** docs/configuration.md. Throws when a variable is read and not described, or described and not read. */
export function configurationPage(): string {
  const read = readVariables();
  const described = new Set(variableGroups.flatMap(({ variables }) => Object.keys(variables)));
  const missing = [...read.keys()].filter((name) => !described.has(name));
  const gone = [...described].filter((name) => !read.has(name));
  if (missing.length > 0)
    throw new Error(`docs/generate/variables.ts does not describe ${missing.join(', ')}`);
  if (gone.length > 0)
    throw new Error(`docs/generate/variables.ts describes ${gone.join(', ')}, which nobody reads`);
  const sections = variableGroups.map((group) => section(group, read));
  return `# Configuration

<!-- Written by \`npm run docs\` from common/config and docs/generate/variables.ts: do not edit it here. -->

Sluice is configured by environment variables, which are read once at start. Bad values stop the
start with one sentence that names them all. An empty variable counts as not set. Names that end in
\`_MS\` are milliseconds, names that end in \`_BYTES\` are bytes.

${sections.join('\n')}`;
}

function section({ title, text, variables }: VariableGroup, read: ReadonlyMap<string, ReadVariable>): string {
  const rows = Object.entries(variables).map(([name, variable]) => {
    const { default: fallback, values } = read.get(name) as ReadVariable;
    const shown = variable.default ?? fallback ?? '-';
    return `| ${name} | ${shown} | ${values ?? ''} | ${variable.meaning} |\n`;
  });
  const intro = text === undefined ? '' : `${wrapText(text)}\n\n`;
  return `## ${title}\n\n${intro}| variable | default | values | meaning |\n|---|---|---|---|\n${rows.join('')}`;
}
