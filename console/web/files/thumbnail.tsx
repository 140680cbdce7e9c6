import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import type { FileProps } from './file-api.ts';
import { type Picture, picturesOf } from './file-pictures.ts';
import type { GridPreset } from './grid-preset.ts';
import { mediaKind } from './media-kind.ts';

interface ThumbnailProps extends FileProps {
  /** Null: there is none. Undefined: not known yet. */
  readonly preset: GridPreset | null | undefined;
  /** Fills a tile of the grid. */
  readonly large?: boolean;
}

/** A picture of an image or video, loaded when it comes into view; an icon for other files. */
export function Thumbnail({ project, file, preset, large = false }: ThumbnailProps): JSX.Element {
  const box = useRef<HTMLSpanElement>(null);
  const [picture, setPicture] = useState<Picture | null>(null);
  const pictures = useRef<AsyncGenerator<Picture, void> | null>(null);
  const kind = mediaKind(file);
  /** On failure the icon stays. */
  const showNext = (): void => {
    const from = pictures.current;
    const show = ({ value }: IteratorResult<Picture, void>): void => {
      if (pictures.current === from) setPicture(value ?? null);
    };
    from?.next().then(show, () => undefined);
  };
  useEffect(() => {
    if ((kind !== 'image' && kind !== 'video') || preset === undefined || box.current === null) return;
    const gone = new AbortController();
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry?.isIntersecting) return;
        observer.disconnect();
        pictures.current = picturesOf({ project, file }, preset, gone.signal);
        showNext();
      },
      { rootMargin: '200px' },
    );
    observer.observe(box.current);
    return () => {
      gone.abort();
      observer.disconnect();
      pictures.current = null;
      setPicture(null);
    };
  }, [project, file.name, preset]);
  // decorative: the name is next to it
  return (
    <span class={`thumbnail${large ? ' large' : ''}`} ref={box}>
      {picture === null ? (
        <Icon name={kind} />
      ) : (
        <img
          srcset={picture.sources}
          sizes={large ? '(width < 40rem) 45vw, 12rem' : '2.25rem'}
          src={picture.address}
          alt=""
          loading="lazy"
          decoding="async"
          style={{ rotate: `${picture.degrees}deg` }}
          onError={() => {
            setPicture(null);
            showNext();
          }}
        />
      )}
    </span>
  );
}
