import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { embeddedThumbnail } from './embedded-thumbnail.ts';
import { type FileProps, mediaSource, readBeginning } from './file-api.ts';
import { mediaKind } from './media-kind.ts';

/** A list of large pictures could be gigabytes: beyond this size, a file without an embedded thumbnail gets an icon. */
const largestBytes = 1_000_000;
/** An embedded thumbnail ends here at the latest: the Exif segment comes first, and has at most 64 KiB. */
const beginningBytes = 68_000;

interface Picture {
  readonly address: string;
  readonly degrees: number;
}

/** A thumbnail of an image, loaded when it comes into view; an icon for other files. */
export function Thumbnail({ project, file }: FileProps): JSX.Element {
  const box = useRef<HTMLSpanElement>(null);
  const [picture, setPicture] = useState<Picture | null>(null);
  const kind = mediaKind(file);
  useEffect(() => {
    if (kind !== 'image' || box.current === null) return;
    const gone = new AbortController();
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry?.isIntersecting) return;
        observer.disconnect();
        // on failure the icon stays
        pictureOf({ project, file }, gone.signal).then(setPicture, () => undefined);
      },
      { rootMargin: '200px' },
    );
    observer.observe(box.current);
    return () => {
      gone.abort();
      observer.disconnect();
    };
  }, [project, file.name]);
  // decorative: the name is next to it
  return (
    <span class="thumbnail" ref={box}>
      {picture === null ? (
        <Icon name={kind} />
      ) : (
        <img
          src={picture.address}
          alt=""
          decoding="async"
          style={{ rotate: `${picture.degrees}deg` }}
          onError={() => setPicture(null)}
        />
      )}
    </span>
  );
}

async function pictureOf({ project, file }: FileProps, signal: AbortSignal): Promise<Picture | null> {
  if (file.contentType === 'image/jpeg' && file.size > beginningBytes) {
    const found = embeddedThumbnail(
      await readBeginning(project, file.name, { bytes: beginningBytes, signal }),
    );
    if (found !== null) {
      const address = `data:image/jpeg;base64,${btoa(String.fromCharCode(...found.bytes))}`;
      return { address, degrees: found.degrees };
    }
  }
  if (file.size > largestBytes) return null;
  const address = await mediaSource(project, file.name);
  return signal.aborted ? null : { address, degrees: 0 };
}
