/** An ETag without its quotes. */
export function plainEtag(etag: string): string {
  return etag.replace(/^(?:W\/)?"(.*)"$/, '$1');
}
