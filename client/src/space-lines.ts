/** The part of a stored field that a client needs. */
export interface ShownField {
  readonly name: string;
  readonly slug: string;
  readonly type: string;
  readonly required: boolean;
  readonly unique: boolean;
  readonly hashed: boolean;
  readonly normalize?: readonly string[];
  /** Of a DECIMAL. */
  readonly precision?: number;
  readonly scale?: number;
  /** Of a FILE. */
  readonly many?: boolean;
}

const flags = ['many', 'required', 'unique', 'hashed'] as const;
const identifier = /^[A-Za-z_$][\w$]*$/;
/** Names that are reserved, or that the module uses itself. */
const taken = new Set(
  `array bigint boolean date datetime decimal file integer number object space text await break case catch class const continue debugger default delete do else enum
  export extends false finally for function if implements import in instanceof interface let new null package private
  protected public return static super switch this throw true try typeof var void while with yield arguments eval`.split(
    /\s+/,
  ),
);

/** A TypeScript module that declares the record spaces of a project, in their order. */
export function spaceLines(
  project: string,
  spaces: readonly { readonly slug: string; readonly fields: readonly ShownField[] }[],
): string {
  const names = new Set<string>();
  const used = new Set(['space']);
  const blocks = spaces.map(({ slug, fields }) => {
    const lines = fields.map((field) => {
      const type = field.type.toLowerCase();
      used.add(type);
      return `  ${identifier.test(field.name) ? field.name : quoted(field.name)}: ${type}(${optionsOf(field)}),\n`;
    });
    return `export const ${nameOf(slug, names)} = space(${quoted(slug)}, {\n${lines.join('')}});\n`;
  });
  const head = `// Made by sluice-types: the record spaces of the project ${project}.\n`;
  return [`${head}import { ${[...used].sort().join(', ')} } from 'sluice-client';\n`, ...blocks].join('\n');
}

function optionsOf({ name, slug, ...field }: ShownField): string {
  const { precision, scale } = field;
  const options = [
    ...(precision === undefined ? [] : [`precision: ${precision}`]),
    ...(scale === undefined ? [] : [`scale: ${scale}`]),
    ...flags.filter((flag) => field[flag]).map((flag) => `${flag}: true`),
    ...(field.normalize ? [`normalize: [${field.normalize.map(quoted).join(', ')}]`] : []),
    ...(slug === name ? [] : [`slug: ${quoted(slug)}`]),
  ];
  return options.length === 0 ? '' : `{ ${options.join(', ')} }`;
}

/** A name in camel case that no other space has. */
function nameOf(slug: string, names: Set<string>): string {
  const words = slug.split(/[^A-Za-z0-9$]+/).filter((word) => word !== '');
  const [first = 'space', ...rest] = words;
  const joined = first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  const plain = /^\d/.test(joined) || taken.has(joined) ? `${joined}_`.replace(/^(?=\d)/, '_') : joined;
  let name = plain;
  for (let number = 2; names.has(name); number++) name = `${plain}${number}`;
  names.add(name);
  return name;
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
