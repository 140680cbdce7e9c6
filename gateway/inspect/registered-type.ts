/** Names that browsers, phones and libraries send, and the registered media types that they mean. */
const registered: ReadonlyMap<string, string> = new Map([
  ['audio/aacp', 'audio/aac'],
  ['audio/x-aac', 'audio/aac'],
  ['audio/m4a', 'audio/mp4'],
  ['audio/x-m4a', 'audio/mp4'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-mp3', 'audio/mpeg'],
  ['audio/x-mpeg', 'audio/mpeg'],
  ['audio/x-flac', 'audio/flac'],
  // RFC 7845 section 9: files of Opus are Ogg; audio/opus is for RTP
  ['audio/opus', 'audio/ogg'],
  ['audio/x-matroska', 'audio/matroska'],
  ['audio/vnd.wave', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/x-pn-wav', 'audio/wav'],
  ['audio/mpegurl', 'application/vnd.apple.mpegurl'],
  ['audio/x-mpegurl', 'application/vnd.apple.mpegurl'],
  ['application/mpegurl', 'application/vnd.apple.mpegurl'],
  ['application/x-mpegurl', 'application/vnd.apple.mpegurl'],
  ['application/x-pdf', 'application/pdf'],
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  ['image/x-ms-bmp', 'image/bmp'],
  ['video/x-m4v', 'video/mp4'],
  ['video/x-matroska', 'video/matroska'],
]);

/** The registered media type of a name; any other name is returned as it is. @param type in lower case */
export function registeredType(type: string): string {
  return registered.get(type) ?? type;
}
