import { expect, it } from 'vitest';
import { z } from 'zod';

import { isGreen, openPage } from './stage.ts';

it('eight hours of 1,300 cameras and 60 categories leave less than 10 MB in the heap', async () => {
  const categories = Array.from({ length: 60 }, (_, category) => `category-${category}`);
  const { page, service } = await openPage({ service: { categories } });
  service.instead = () => {
    // Every answer differs from the answer before.
    service.frames = (service.frames + 7) % 1_000;
    const seen = Array.from({ length: 1_300 }, (_, index) => [`camera-${index}`, (index + service.frames) % 5_000]);
    service.lastSeen = Object.fromEntries(seen);
    return undefined;
  };
  // Both tables show their first rows. The last button comes first: a used button has another name.
  const more = await page.getByRole('button', { name: 'Show 52 more categories' }).all();
  for (const button of more.toReversed()) await button.click();
  // The page draws into the document, and the browser does not paint: painting takes most of the time.
  await page.evaluate("document.querySelector('main').style.display = 'none'");
  for (let round = 0; round < 8 * 60; round += 1) {
    await page.clock.fastForward(60_000);
    await isGreen(page);
  }
  expect(await page.locator('.categories tbody tr').count()).toBe(120);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = z.object({ usedSize: z.number() }).parse(await devtools.send('Runtime.getHeapUsage'));
  expect(usedSize).toBeLessThan(10e6);
});
