import { sections } from '../../common/config/read-config.ts';
import { listVariables, type Section } from '../../common/config/variable.ts';
import { wrapText } from './wrap-text.ts';

/** docs/configuration.md. */
export function configurationPage(): string {
  return `# Configuration

<!-- Written by \`npm run docs\` from common/config: do not edit it here. -->

Sluice is configured by environment variables, which are read once at start. Bad values stop the
start with one sentence that names them all. An empty variable counts as not set. Names that end in
\`_MS\` are milliseconds, names that end in \`_BYTES\` are bytes.

${sections.map(sectionText).join('\n')}`;
}

function sectionText({ title, text, variables }: Section): string {
  const rows = listVariables(variables).map(
    ({ name, shown, values, meaning }) => `| ${name} | ${shown} | ${values} | ${meaning} |\n`,
  );
  const intro = text === undefined ? '' : `${wrapText(text)}\n\n`;
  return `## ${title}\n\n${intro}| variable | default | values | meaning |\n|---|---|---|---|\n${rows.join('')}`;
}
