/** A path of the API: address`/_f_/${project}/${name}`. Each value is encoded as one segment or query value. */
export function address(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}
