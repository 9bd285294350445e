import { expect, it } from 'vitest';

import { demoDays } from './activity.ts';
import { setStage } from './stage.ts';
import { quiet, RUNNING } from './stories.ts';

const stage = setStage(demoDays());

it('an alert is in sight wherever one has scrolled, also on a phone, and leads to the strip', async () => {
  const { page, nextRound } = await stage.open('?tz=utc', { viewport: { width: 390, height: 844 } });
  await page.evaluate('scrollTo(0, 3000)');
  stage.service.notifications = [RUNNING, quiet('quiet')];
  await nextRound();
  const count = page.getByRole('link', { name: '1 alert' });
  const { y = -1, height = 0 } = (await count.boundingBox()) ?? {};
  expect(y).toBeGreaterThanOrEqual(0);
  // Narrow: most of a phone is for what one reads.
  expect(y + height).toBeLessThan(90);
  await count.click();
  expect(await page.evaluate('document.activeElement.id')).toBe('attention');
  await expect.poll(async () => (await page.locator('.attention').boundingBox())?.y ?? -1).toBeGreaterThanOrEqual(0);
  expect((await page.locator('.attention').boundingBox())?.y).toBeLessThan(844);

  // Taking it moves the line, and the focus with it.
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.keyboard.type('Ana');
  await page.keyboard.press('Enter');
  await page.getByText('Ana has it').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain('Confirmed fire');
  expect(await count.count()).toBe(0);
});
