const keepMs = 60_000;

/** Hands a file to the browser's downloads. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  // a slug of a space may be anything
  link.download = name.replace(/[\\/:*?"<>|]/g, '_');
  link.click();
  // the browser may still be asking where to put it
  setTimeout(() => URL.revokeObjectURL(link.href), keepMs);
}
