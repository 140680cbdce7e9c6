import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { mediaSource, type StoredFile } from './file-api.ts';
import { mediaKind } from './media-kind.ts';

/** A list of photographs straight from a camera would be gigabytes: larger ones have an icon. */
const largestBytes = 8_000_000;

/** A small picture of an image, loaded when it comes into view; of anything else an icon. */
export function Thumbnail({
  project,
  file,
}: {
  readonly project: string;
  readonly file: StoredFile;
}): JSX.Element {
  const box = useRef<HTMLSpanElement>(null);
  const [source, setSource] = useState<string | null>(null);
  const kind = mediaKind(file);
  const shown = kind === 'image' && file.size <= largestBytes;
  useEffect(() => {
    if (!shown || box.current === null) return;
    let gone = false;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry?.isIntersecting) return;
        observer.disconnect();
        mediaSource(project, file.name).then(
          (address) => !gone && setSource(address),
          // the icon stays
          () => undefined,
        );
      },
      { rootMargin: '200px' },
    );
    observer.observe(box.current);
    return () => {
      gone = true;
      observer.disconnect();
    };
  }, [project, file.name, shown]);
  return (
    <span class="thumbnail" ref={box}>
      {source === null ? (
        <Icon name={kind} />
      ) : (
        // what it shows is said by the name beside it
        <img src={source} alt="" decoding="async" onError={() => setSource(null)} />
      )}
    </span>
  );
}
