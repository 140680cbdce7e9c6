import { isUtf8 } from 'node:buffer';
import { invalidMultipart } from '#kernel/errors/catalogue.ts';
import { parseParameters } from './header-parameters.ts';

/** The headers of one part. */
export interface PartHead {
  /** Name of the form field. */
  readonly name: string;
  /** As sent; undefined when the part is not a file. */
  readonly fileName: string | undefined;
  /** As sent. */
  readonly contentType: string | undefined;
  /** All headers, for those that only the part of a file may have. */
  readonly headers: RawHeaders;
}

/** Headers by lower-case name; each byte is one character. */
export type RawHeaders = Readonly<Record<string, readonly string[]>>;

// RFC 7578 section 4.7: other encodings are deprecated, and the encoded text would be stored as the file
const plainEncodings = ['7bit', '8bit', 'binary'];

/** Throws 400 unless the part is a named form field (RFC 7578 section 4.2). @param limit bytes of all headers */
export function readPartHead(headers: RawHeaders, limit: number): PartHead {
  if (headerBytes(headers) > limit) {
    throw invalidMultipart(`The headers of a part are longer than ${limit} bytes`);
  }
  const [disposition, ...others] = headers['content-disposition'] ?? [];
  if (disposition === undefined) throw invalidMultipart('A part has no Content-Disposition');
  const parsed = others.length === 0 ? parseParameters(disposition) : null;
  if (parsed === null) throw invalidMultipart('A part has a malformed Content-Disposition');
  if (parsed.value !== 'form-data')
    throw invalidMultipart('A part has a Content-Disposition other than form-data');
  const name = parsed.parameters.get('name');
  if (name === undefined) throw invalidMultipart('A part has no name');
  const encoding = headers['content-transfer-encoding']?.[0]?.trim().toLowerCase() ?? 'binary';
  if (!plainEncodings.includes(encoding)) {
    throw invalidMultipart('A part has a Content-Transfer-Encoding: send its bytes as they are');
  }
  const contentType = headers['content-type']?.[0];
  return {
    name: decodeName(name),
    fileName: readFileName(parsed.parameters),
    contentType: contentType === undefined ? undefined : decodeText(contentType),
    headers,
  };
}

function headerBytes(headers: RawHeaders): number {
  let bytes = 0;
  for (const [name, values] of Object.entries(headers)) {
    for (const value of values) bytes += name.length + ': '.length + value.length + '\r\n'.length;
  }
  return bytes;
}

/**
 * The file name of a Content-Disposition. RFC 6266 section 4.3: `filename*` takes precedence over `filename`. RFC 7578
 * section 4.2 forbids it in forms, but some clients send it.
 */
export function readFileName(parameters: ReadonlyMap<string, string>): string | undefined {
  const extended = parameters.get('filename*');
  const decoded = extended === undefined ? undefined : decodeExtValue(extended);
  if (decoded !== undefined) return decoded;
  const plain = parameters.get('filename');
  if (plain !== undefined) return decodeName(plain);
  if (extended !== undefined) throw invalidMultipart("A part has a malformed filename*: send UTF-8''<name>");
  return undefined;
}

/** RFC 8187 section 3.2.1. Undefined when it is malformed, or in a charset that recipients need not support. */
function decodeExtValue(value: string): string | undefined {
  const match = /^(utf-8|iso-8859-1)'[^']*'((?:[^%]|%[0-9A-Fa-f]{2})*)$/i.exec(value);
  if (match === null) return undefined;
  const bytes = (match[2] as string).replace(/%(..)/g, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  if ((match[1] as string).toLowerCase() === 'iso-8859-1') return bytes;
  const buffer = Buffer.from(bytes, 'latin1');
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined;
}

/**
 * Decodes a name as browsers encode it: only these three characters, not the percent sign, so a literal `%22` is
 * ambiguous. https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data
 */
function decodeName(bytes: string): string {
  return decodeText(bytes).replace(/%(?:22|0D|0A)/g, decodeURIComponent);
}

/** RFC 7578 section 5.1: names should be UTF-8; others are read as ISO 8859-1. */
function decodeText(bytes: string): string {
  const buffer = Buffer.from(bytes, 'latin1');
  return isUtf8(buffer) ? buffer.toString('utf8') : bytes;
}
