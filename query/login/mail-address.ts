import { domainToASCII } from 'node:url';

/** RFC 5321 section 4.5.3.1. Bytes. */
const longestLocal = 64;
const longestAddress = 254;
/**
 * One address that no reader of mail headers takes for several, for a group or for a name: atoms of RFC 5322 and RFC 6532,
 * without quotes and comments, and without invisible characters.
 */
const local = /^[^\s"(),.:;<>@[\\\]\p{C}]+(?:\.[^\s"(),.:;<>@[\\\]\p{C}]+)*$/u;
const label = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?$/u;

/** Whether a text is exactly one e-mail address, such as `ada@example.com`. */
export function isMailAddress(text: string): boolean {
  const at = text.indexOf('@');
  const [name, domain] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || Buffer.byteLength(text) > longestAddress || Buffer.byteLength(name) > longestLocal)
    return false;
  const labels = domain.split('.');
  return (
    text === text.normalize('NFC') &&
    local.test(name) &&
    labels.length > 1 &&
    labels.every((part) => label.test(part)) &&
    domainToASCII(domain) !== ''
  );
}
