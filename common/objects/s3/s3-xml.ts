import { parseXML } from '@aws-sdk/xml-builder';
import { BrokenAnswer } from '#kernel/http-client/answer-parser.ts';

/** An element as the parser of the SDK has it: texts and elements by name, or arrays of them where a name is repeated. */
export type XmlElement = Readonly<Record<string, unknown>>;

/** The root element of an answer, whatever its name: servers differ in it. */
export function readXml(text: string): XmlElement {
  let parsed: XmlElement;
  try {
    parsed = parseXML(text) as XmlElement;
  } catch (cause) {
    throw Object.assign(new BrokenAnswer('the answer is not XML'), { cause });
  }
  return asElement(Object.values(parsed)[0]);
}

/** The text of a child; undefined: there is no such child. */
export function xmlText(element: XmlElement, name: string): string | undefined {
  const [child] = childrenOf(element, name);
  if (child === undefined || typeof child === 'string') return child;
  // an element with attributes
  const text = asElement(child)['#text'];
  return typeof text === 'string' ? text : '';
}

/** The children with this name, which have children themselves. */
export function xmlElements(element: XmlElement, name: string): readonly XmlElement[] {
  return childrenOf(element, name).map(asElement);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Text to put into an element. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] as string);
}

function childrenOf(element: XmlElement, name: string): readonly unknown[] {
  if (!Object.hasOwn(element, name)) return [];
  const child = element[name];
  return Array.isArray(child) ? child : [child];
}

function asElement(value: unknown): XmlElement {
  return typeof value === 'object' && value !== null ? (value as XmlElement) : {};
}
