/** A path of the API: address`/_f_/${project}/${name}`. Each value is one segment, or one value of a query. */
export function address(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}
