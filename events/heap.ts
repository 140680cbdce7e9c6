/** An item that knows its position in a heap. -1: it is in no heap. */
export interface HeapItem {
  slot: number;
}

/** A binary heap. Adding an item, or removing any item, takes a logarithmic number of steps. */
export class Heap<Item extends HeapItem> {
  readonly #items: Item[] = [];
  readonly #before: (one: Item, other: Item) => boolean;

  constructor(before: (one: Item, other: Item) => boolean) {
    this.#before = before;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** The order of an item must not change while it is in the heap. */
  add(item: Item): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  /** Does nothing for an item that is not in the heap. */
  remove(item: Item): void {
    const { slot } = item;
    if (slot === -1) return;
    item.slot = -1;
    const last = this.#items.pop() as Item;
    if (last === item) return;
    this.#rise(last, slot);
    this.#sink(last, last.slot);
  }

  #rise(item: Item, from: number): void {
    let slot = from;
    while (slot > 0) {
      const parent = this.#items[(slot - 1) >> 1] as Item;
      if (!this.#before(item, parent)) break;
      this.#put(parent, slot);
      slot = (slot - 1) >> 1;
    }
    this.#put(item, slot);
  }

  #sink(item: Item, from: number): void {
    let slot = from;
    for (;;) {
      const [left, right] = [this.#items[2 * slot + 1], this.#items[2 * slot + 2]];
      const child = right !== undefined && this.#before(right, left as Item) ? right : left;
      if (child === undefined || !this.#before(child, item)) break;
      const next = child.slot;
      this.#put(child, slot);
      slot = next;
    }
    this.#put(item, slot);
  }

  #put(item: Item, slot: number): void {
    this.#items[slot] = item;
    item.slot = slot;
  }
}
