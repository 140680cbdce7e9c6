import { parseXML } from '@aws-sdk/xml-builder';
import { BrokenAnswer } from '#kernel/http-client/answer-parser.ts';
import type { WholeAnswer } from '#kernel/http-client/whole-answer.ts';
import { S3Failure } from './s3-failure.ts';

/** An element as the parser of the SDK has it: texts and elements by name, or arrays of them where a name is repeated. */
export type XmlElement = Readonly<Record<string, unknown>>;

/**
 * The root element of an answer, whatever its name: servers differ in it. Throws the failure that stands in its place: "it is
 * possible that a failure occurs after the initial 200 OK response has been sent"
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html).
 */
export function documentIn({ text, status }: Pick<WholeAnswer, 'text' | 'status'>): XmlElement {
  const [[name, value] = []] = Object.entries(parsed(text));
  const root = asElement(value);
  if (name === 'Error')
    throw new S3Failure(
      status,
      xmlText(root, 'Code') ?? 'InternalError',
      xmlText(root, 'Message') ?? 'no message',
    );
  return root;
}

function parsed(text: string): XmlElement {
  try {
    return parseXML(text) as XmlElement;
  } catch (cause) {
    throw Object.assign(new BrokenAnswer('the answer is not XML'), { cause });
  }
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
