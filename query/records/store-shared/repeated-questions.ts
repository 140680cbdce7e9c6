const places = 2 ** 14;
/** Characters of a request that are hashed, at its beginning and at its end. */
const looked = 128;

/** The cache's admission filter: a table of hashes of earlier requests, which may displace each other. */
export class RepeatedQuestions {
  readonly #hashes = new Int32Array(places);

  /** Notes a request. Returns whether it was probably noted before. */
  again(question: string): boolean {
    const hash = hashOf(question);
    const place = (hash >>> 1) & (places - 1);
    const known = this.#hashes[place] === hash;
    this.#hashes[place] = hash;
    return known;
  }
}

/** FNV-1a (https://datatracker.ietf.org/doc/draft-eastlake-fnv/), and never 0. */
function hashOf(text: string): number {
  let hash = -2128831035 ^ text.length;
  for (let at = 0; at < text.length; at++) {
    if (at === looked && text.length > 2 * looked) at = text.length - looked;
    hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  }
  return hash | 1;
}
