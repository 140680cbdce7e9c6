import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** Runs in the page: draws landscapes, and records a film of one. */
const script = `(async () => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 800, height: 600 });
  const pen = canvas.getContext('2d');
  const draw = (hue) => {
    const sky = pen.createLinearGradient(0, 0, 0, 600);
    sky.addColorStop(0, 'hsl(' + hue + ' 70% 35%)');
    sky.addColorStop(1, 'hsl(' + (hue + 50) + ' 80% 75%)');
    pen.fillStyle = sky;
    pen.fillRect(0, 0, 800, 600);
    pen.fillStyle = 'hsl(' + (hue + 60) + ' 90% 85%)';
    pen.beginPath();
    pen.arc(560, 260, 70, 0, 7);
    pen.fill();
    [30, 22, 14].forEach((light, place) => {
      pen.fillStyle = 'hsl(' + (hue - 20) + ' 40% ' + light + '%)';
      pen.beginPath();
      pen.moveTo(0, 600);
      for (let x = 0; x <= 800; x += 20)
        pen.lineTo(x, 360 + 70 * place + 45 * Math.sin(x / (90 + 40 * place) + hue + place));
      pen.lineTo(800, 600);
      pen.fill();
    });
  };
  const pictures = [210, 20, 280, 150, 330].map((hue) => {
    draw(hue);
    return canvas.toDataURL('image/png').split(',')[1];
  });
  const recorder = new MediaRecorder(canvas.captureStream(10), { mimeType: 'video/webm' });
  const parts = [];
  let hue = 40;
  const drawing = setInterval(() => draw(hue++), 50);
  // however slow the machine is: until there are some pictures
  const recorded = new Promise((resolve) => {
    recorder.ondataavailable = ({ data }) => {
      parts.push(data);
      if (new Blob(parts).size > 20000 && recorder.state === 'recording') recorder.stop();
    };
    recorder.onstop = () => {
      clearInterval(drawing);
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.split(',')[1]);
      reader.readAsDataURL(new Blob(parts));
    };
  });
  recorder.start(100);
  return { pictures, film: await recorded };
})()`;

/** Files of pictures, and of a short film that is followed by 20 MB of nothing. */
export async function drawnFiles(
  page: Page,
  folder: string,
): Promise<{ readonly pictures: readonly string[]; readonly film: string }> {
  const drawn = (await page.evaluate(script)) as {
    readonly pictures: readonly string[];
    readonly film: string;
  };
  const pictures = drawn.pictures.map((_, place) => join(folder, `picture ${place} größe.png`));
  for (const [place, data] of drawn.pictures.entries())
    await writeFile(pictures[place] as string, Buffer.from(data, 'base64'));
  const film = join(folder, 'film.webm');
  // an element of EBML that readers skip, with a size of seven bytes
  const rest = Buffer.alloc(9 + 20_000_000);
  rest.set([0xec, 0x01]);
  rest.writeUIntBE(20_000_000, 3, 6);
  await writeFile(film, Buffer.concat([Buffer.from(drawn.film, 'base64'), rest]));
  return { pictures, film };
}
