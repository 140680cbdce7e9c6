const storedNamePattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}_[A-Za-z0-9._-]{1,100}$/;

/** Whether a name has the form of a stored file's name. */
export function isStoredName(name: string): boolean {
  return storedNamePattern.test(name);
}
