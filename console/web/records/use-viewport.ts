import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Viewport {
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  readonly scrollLeft: number;
}

/** The visible part of a scrolling element, at most once a frame. */
export function useViewport(ref: RefObject<HTMLElement | null>): Viewport & { readonly read: () => void } {
  const [viewport, setViewport] = useState<Viewport>({
    width: 800,
    height: 600,
    scrollTop: 0,
    scrollLeft: 0,
  });
  const read = (): void => {
    if (ref.current === null) return;
    const { clientWidth: width, clientHeight: height, scrollTop, scrollLeft } = ref.current;
    setViewport({ width, height, scrollTop, scrollLeft });
  };
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    let frame = 0;
    const plan = (): void => {
      if (frame !== 0) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        read();
      });
    };
    const observer = new ResizeObserver(plan);
    observer.observe(element);
    element.addEventListener('scroll', plan, { passive: true });
    read();
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      element.removeEventListener('scroll', plan);
    };
  }, []);
  return { ...viewport, read };
}
