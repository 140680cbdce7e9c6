/** Those who wait, first come first served. Joining, leaving and asking take constant time. */
export class WaitingLine<Item> implements Iterable<Item> {
  // a Set iterates in the order of insertion
  readonly #items = new Set<Item>();

  get size(): number {
    return this.#items.size;
  }

  get first(): Item | undefined {
    return this.#items.values().next().value;
  }

  add(item: Item): void {
    this.#items.add(item);
  }

  remove(item: Item): boolean {
    return this.#items.delete(item);
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values();
  }
}
