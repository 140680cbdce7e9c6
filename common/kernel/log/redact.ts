const hidden = '***';
/** A shorter secret would match unrelated text. */
const shortestSecret = 8;

/** Patterns of secrets anywhere in a text; the first group stays. */
const shapes: readonly RegExp[] = [
  // access tokens (auth/sealed-token.ts); a name may directly precede a token
  /()sluice_[A-Za-z0-9_-]{43,}/g,
  // login tokens and other JSON Web Tokens
  /()eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g,
  /\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}/gi,
  // expiring links and presigned S3 URLs
  /\b((?:x-amz-)?(?:signature|security-token)(?:=|%3d))[^&"\s\\]+/gi,
];

/**
 * Removes secrets from a JSON line right before it is written. Our code logs none, but an error message of a library may
 * quote a client's text, and a client may use its token as a name.
 * @param secrets texts that are secret whatever they look like, such as passwords from the environment
 */
export function createRedaction(secrets: readonly string[]): (line: string) => string {
  const texts = secrets
    .filter((secret) => secret.length >= shortestSecret)
    // a longer secret may contain a shorter one
    .sort((a, b) => b.length - a.length)
    .flatMap((secret) => [...new Set([JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])]);
  return (line) => {
    let clean = line;
    for (const text of texts) clean = clean.replaceAll(text, hidden);
    for (const shape of shapes) clean = clean.replace(shape, `$1${hidden}`);
    return clean;
  };
}
