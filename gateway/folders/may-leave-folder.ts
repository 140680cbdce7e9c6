import type { CloudFile } from '../catalogue/cloud-file.ts';

/** Playlists by the names of media types: their relative links are resolved against the address after a redirect. */
const playlists = new Set(['audio/mpegurl', 'audio/x-mpegurl', 'image/svg+xml']);

/**
 * Whether a redirect may lead readers of a file in a folder to the bucket. Only sound, video and pictures: anything else
 * may name other files by relative links.
 */
export function mayLeaveFolder({ contentType }: Pick<CloudFile, 'contentType'>): boolean {
  return /^(?:audio|video|image)\//.test(contentType) && !playlists.has(contentType);
}
