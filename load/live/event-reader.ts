import { StringDecoder } from 'node:string_decoder';

export interface ServerEvent {
  readonly type: string;
  readonly id: string;
  readonly data: string;
}

/** Reads server-sent events (HTML, section 9.2) from the bytes of a stream. Comments are skipped. */
export class EventReader {
  readonly #onEvent: (event: ServerEvent) => void;
  readonly #decoder = new StringDecoder('utf8');
  #text = '';

  constructor(onEvent: (event: ServerEvent) => void) {
    this.#onEvent = onEvent;
  }

  add(bytes: Buffer): void {
    const text = this.#text + this.#decoder.write(bytes);
    let begin = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', begin)) {
      this.#read(text.slice(begin, end));
      begin = end + 2;
    }
    this.#text = text.slice(begin);
  }

  #read(block: string): void {
    let [type, id, data] = ['message', '', ''];
    let isEvent = false;
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) type = line.slice(7);
      else if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('data: ')) {
        data += isEvent ? `\n${line.slice(6)}` : line.slice(6);
        isEvent = true;
      }
    }
    if (isEvent) this.#onEvent({ type, id, data });
  }
}
