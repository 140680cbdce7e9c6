export type XmlContent = string | number | boolean | readonly XmlChild[];
/** Null is left out, which keeps optional elements readable at their place. */
export type XmlChild = readonly [name: string, content: XmlContent] | null;

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

export function xmlDocument(name: string, children: readonly XmlChild[]): string {
  const content = children.map(renderChild).join('');
  return `${declaration}<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${name}>`;
}

/** "REST Error Responses" has no namespace: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
export function errorDocument(children: readonly XmlChild[]): string {
  return declaration + renderChild(['Error', children]);
}

function renderChild(child: XmlChild): string {
  if (child === null) return '';
  const [name, content] = child;
  const inner = Array.isArray(content)
    ? (content as readonly XmlChild[]).map(renderChild).join('')
    : escapeText(`${content as string | number | boolean}`);
  return `<${name}>${inner}</${name}>`;
}

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;');
}

/** What XML has for a character (https://www.w3.org/TR/xml/#sec-predefined-ent) is the character again. */
export function unescapeText(text: string): string {
  const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
  return text.replace(/&(?:#(x?)([0-9a-f]+)|(\w+));/gi, (whole, hex: string, code: string, name: string) =>
    name === undefined
      ? String.fromCodePoint(Number.parseInt(code, hex === '' ? 10 : 16))
      : (named[name] ?? whole),
  );
}
