import { type S3Error, s3Error } from './s3-error.ts';

export interface XmlElement {
  readonly name: string;
  readonly children: XmlElement[];
  text: string;
}

const token =
  /<\?[^>]*\?>|<!--[\s\S]*?-->|<(?<close>\/?)(?<name>[A-Za-z_][\w.:-]*)(?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(?<empty>\/?)>|(?<text>[^<]+)/y;
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** The small part of XML that S3 request bodies use: elements and text, without DTDs or CDATA. */
export function parseXml(source: string): XmlElement {
  const top: XmlElement = { name: '', children: [], text: '' };
  const open = [top];
  token.lastIndex = 0;
  for (let at = 0; at < source.length; at = token.lastIndex) {
    const groups = token.exec(source)?.groups;
    if (groups === undefined) throw malformedXml();
    take(groups, open);
  }
  const [root] = top.children;
  if (open.length !== 1 || root === undefined || top.children.length !== 1 || top.text.trim() !== '') {
    throw malformedXml();
  }
  return root;
}

function take(groups: Record<string, string | undefined>, open: XmlElement[]): void {
  const parent = open.at(-1) as XmlElement;
  if (groups.text !== undefined) {
    parent.text += decodeEntities(groups.text);
  } else if (groups.close === '/') {
    if (parent.name !== groups.name || open.length === 1) throw malformedXml();
    open.pop();
  } else if (groups.name !== undefined) {
    const element: XmlElement = { name: groups.name, children: [], text: '' };
    parent.children.push(element);
    if (groups.empty !== '/') open.push(element);
  }
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));|&/g, (_whole, decimal, hex, name) => {
    if (decimal !== undefined) return codePoint(Number(decimal));
    if (hex !== undefined) return codePoint(Number.parseInt(hex, 16));
    const value = entities[name ?? ''];
    if (value === undefined) throw malformedXml();
    return value;
  });
}

function codePoint(code: number): string {
  if (code > 0x10ffff) throw malformedXml();
  return String.fromCodePoint(code);
}

export function childText(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

export function malformedXml(): S3Error {
  return s3Error(
    'MalformedXML',
    'The XML you provided was not well-formed or did not validate against our published schema',
  );
}
