import { supportedMimeTypes } from 'file-type';
import { isOfTypes } from '#catalogue/file-rules/upload-limits.ts';
import { linkRefused } from '#kernel/errors/catalogue.ts';
import type { Inspected } from '../inspect/inspect-bytes.ts';
import { registeredType } from '../inspect/registered-type.ts';

/** Types whose files are texts, and have no first bytes of their own. */
const texts =
  /^(?:text\/(?!vtt$).*|application\/(?:json|xml|yaml|toml|sql|javascript|x-ndjson|ndjson|.+\+json|.+\+xml|.+\+yaml)?|image\/svg\+xml|message\/rfc822)$/;

/** Files that are a container of another kind: their first bytes may say no more. */
const containers: readonly (readonly [found: string, types: RegExp])[] = [
  [
    'application/zip',
    /^application\/(?:vnd\.openxmlformats-|vnd\.oasis\.|epub\+zip$|java-archive$|vnd\.android\.package-archive$|.+\+zip$)/,
  ],
  ['application/x-cfb', /^application\/(?:msword$|vnd\.ms-)/],
];

/** Formats that hold films or only sound, or have several names. */
const families: readonly RegExp[] = [
  /^(?:audio\/(?:mp4|3gpp2?)?|video\/(?:mp4|3gpp2?|quicktime|iso\.segment))$/,
  /^(?:audio|video)\/(?:webm|matroska)$|^audio\/$/,
  /^(?:audio|video|application)\/ogg$|^audio\/$/,
  /^image\/hei[cf](?:-sequence)?$/,
];

const known: ReadonlySet<string> = new Set([...supportedMimeTypes].map(registeredType));

/** Whether bytes can be told to be of a type, or of the types that begin like it. */
export function canVerify(wanted: string): boolean {
  const type = registeredType(wanted);
  if (type.endsWith('/') || texts.test(type) || known.has(type)) return true;
  return (
    [...families, ...containers.map(([, types]) => types)].some((types) => types.test(type)) ||
    actives.test(type)
  );
}

/** Types of which `activeType` tells more than that they are text. */
const actives = /^application\/(?:x-sh|java-vm|wasm|vnd\.apple\.mpegurl)$/;

/**
 * Throws 403 unless the bytes are of the type. A text is of every type of text, unless it is HTML, XML or a script: these are
 * only of their own type, and of no type by its beginning; bytes of which no type is known are of no media type.
 * @param wanted a media type, or the beginning of one up to its slash
 */
export function assertOfType(wanted: string, inspected: Inspected): void {
  if (!isOfType(registeredType(wanted), inspected))
    throw linkRefused(`The link takes files of type ${wanted}, and these bytes are ${nameOf(inspected)}`);
}

function isOfType(wanted: string, { active, type, isText }: Inspected): boolean {
  if (active !== null)
    return active === wanted || (active === 'application/xml' && /^text\/xml$|\+xml$/.test(wanted));
  if (type === null) return isText && texts.test(wanted);
  if (isOfTypes([wanted], type)) return true;
  if (containers.some(([found, types]) => found === type && types.test(wanted))) return true;
  return families.some((types) => types.test(type) && types.test(wanted));
}

function nameOf({ active, type, isText }: Inspected): string {
  return active ?? type ?? (isText ? 'text' : 'of no known type');
}
