const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text is a UUID as we write it: in lower case. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
