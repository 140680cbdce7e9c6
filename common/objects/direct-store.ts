/** What a reader of an address gets beside the bytes. */
export interface ReadAddressOptions {
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
  /** Seconds. Temporary credentials may end it earlier. */
  readonly lifetime: number;
}

/** Addresses with which others reach objects without us. Whoever has one may use it until it expires. */
export interface DirectStore {
  /** An address for GET of an object, or ranges of it. It does not check that the object exists. */
  readAddress(key: string, options: ReadAddressOptions, signal: AbortSignal): Promise<string>;
}
