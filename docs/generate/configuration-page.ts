import { sections } from '#kernel/config/read-config.ts';
import { listVariables, type Section } from '#kernel/config/variable.ts';

/** docs/configuration.md with the variables of the code. What they mean, and all around the tables, stays as the page has it. */
export function configurationPage(page: string): string {
  const rows = page.matchAll(/^\| ([A-Z0-9_]+) \| .* \| (.+) \|$/gm);
  const meanings = new Map([...rows].map(([, name, meaning]) => [name, meaning]));
  const [begin, ...parts] = page.split(/^## /m);
  const texts = new Map(parts.map((part) => [part.split('\n', 1)[0], part.replace(/^\|[\s\S]*/m, '')]));
  const table = ({ title, variables }: Section): string => {
    const lines = listVariables(variables).map(({ name, shown, values }) => {
      const meaning = meanings.get(name);
      if (meaning === undefined)
        throw new Error(`what does ${name} mean? Add its row to docs/configuration.md`);
      return `| ${name} | ${shown} | ${values} | ${meaning} |\n`;
    });
    const text = texts.get(title) ?? `${title}\n\n`;
    return `## ${text}| variable | default | values | meaning |\n|---|---|---|---|\n${lines.join('')}`;
  };
  return `${begin}${sections.map(table).join('\n')}`;
}
