const keepMs = 60_000;

/** Saves a file through the browser's downloads. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  // slugs may have any characters
  link.download = name.replace(/[\\/:*?"<>|]/g, '_');
  link.click();
  // the browser may still be asking for a folder
  setTimeout(() => URL.revokeObjectURL(link.href), keepMs);
}
