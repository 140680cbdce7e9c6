/** Renders text as a ClickHouse string literal. Only `\` and `'` are special inside one. */
export function textLiteral(text: string): string {
  return `'${text.replace(/[\\']/g, (char) => `\\${char}`)}'`;
}

/** Renders a finite number so that the engine reads back exactly the same double. */
export function numberLiteral(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} has no SQL literal`);
  return `toFloat64('${value}')`;
}

export function booleanLiteral(value: boolean): string {
  return value ? 'true' : 'false';
}

/** Quotes an identifier. It must come from the catalogue, not from a client. */
export function quoteIdentifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, (char) => `\\${char}`)}\``;
}

/** The list after SET or SETTINGS. */
export function settingsText(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${typeof value === 'number' ? value : textLiteral(value)}`)
    .join(', ');
}
