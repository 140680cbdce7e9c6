import type { StoredFile } from './file-api.ts';

export type MediaKind = 'image' | 'audio' | 'video' | 'text' | 'file';

const texts = new Set([
  'application/json',
  'application/ld+json',
  'application/javascript',
  'application/xml',
  'application/yaml',
  'application/x-yaml',
  'application/toml',
  'application/sql',
  'application/x-sh',
  'application/x-ndjson',
]);
const textNames =
  /\.(txt|md|csv|tsv|json|jsonl|ndjson|ya?ml|toml|xml|svg|html?|css|[cm]?[jt]sx?|sql|sh|log|ini|env)$/i;

/** How a file can be shown. Markup is text: it is never rendered. */
export function mediaKind({
  contentType,
  originalName,
}: Pick<StoredFile, 'contentType' | 'originalName'>): MediaKind {
  const type = contentType.toLowerCase().split(';', 1)[0]?.trim() ?? '';
  if (type === 'image/svg+xml' || type.startsWith('text/') || texts.has(type)) return 'text';
  if (type.startsWith('image/')) return 'image';
  if (type.startsWith('audio/')) return 'audio';
  if (type.startsWith('video/')) return 'video';
  const unknown = type === '' || type === 'application/octet-stream';
  return unknown && textNames.test(originalName) ? 'text' : 'file';
}

/** 0:07, 12:30, 1:02:03 */
export function formatPlayTime(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number): string => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
