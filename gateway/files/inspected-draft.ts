import type { ObjectDescription } from '#objects/object-description.ts';
import type { FileHead } from '../inspect/file-head.ts';
import type { Asked, Inspected } from '../inspect/inspect-bytes.ts';
import type { MediaSizes } from '../inspect/sizes.ts';
import type { FileDraft } from './file-draft.ts';
import { unknownMediaType } from './media-type.ts';
import { objectDescription } from './object-description.ts';
import { typeByBytes } from './type-by-bytes.ts';
import { assertOfType } from './verified-type.ts';

/** A new file with the type of its bytes, and what else they tell. */
export interface InspectedFile {
  readonly file: FileDraft;
  readonly sizes: MediaSizes;
}

/** Finds the type of a new file while its bytes come. */
export class InspectedDraft {
  readonly #draft: FileDraft;
  readonly #verified: string | undefined;

  /** @param verified the type, or the beginning of one, that the bytes must have; undefined: any */
  constructor(draft: FileDraft, verified: string | undefined) {
    this.#draft = draft;
    this.#verified = verified;
  }

  /** Which types of the bytes matter. */
  get asks(): Asked {
    if (this.#verified !== undefined) return 'any';
    return this.#draft.contentType === unknownMediaType ? 'shown' : 'none';
  }

  /** The description of its object, as far as the first part tells. Throws 403 for bytes of another type. */
  async description(head: FileHead): Promise<ObjectDescription> {
    const inspected = await head.first(this.asks);
    return objectDescription(head.isKnown ? this.of(inspected).file : this.#of(inspected).file);
  }

  /** The file, once its bytes have arrived. Throws 403 for bytes of another type. */
  async ended(head: FileHead): Promise<InspectedFile> {
    return this.of(await head.last(this.asks));
  }

  /** The same of bytes that were inspected elsewhere. */
  of(inspected: Inspected): InspectedFile {
    if (this.#verified !== undefined) assertOfType(this.#verified, inspected);
    return this.#of(inspected);
  }

  #of(inspected: Inspected): InspectedFile {
    const draft = this.#draft;
    const contentType = typeByBytes(draft.contentType, inspected);
    const file = contentType === draft.contentType ? draft : { ...draft, contentType };
    return { file, sizes: /^(?:image|audio|video)\//.test(contentType) ? inspected.sizes : {} };
  }
}
