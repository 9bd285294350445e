import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { HOSTILE_IDS } from '../stand-in/believable-day.ts';
import { FIRST_REFUSAL, openPage, type Reader } from './reader.ts';
import { setBrowserStage } from './stage.ts';
import { startTarget, TODAY } from './target.ts';

// No cameras but these: all of them are in the list at once.
const stage = setBrowserStage(async () => startTarget({ days: [] }));

describe('ids that are markup, very long, or written from right to left', () => {
  describe('on one page, one after the other', () => {
    let reader: Reader;

    beforeAll(async () => {
      reader = await openPage(stage.browser, {
        url: stage.target.url,
        key: stage.target.key,
        expectedErrors: FIRST_REFUSAL,
      });
    });

    afterAll(() => reader.leave());

    it.each(HOSTILE_IDS)('%s stays text, and is shown alone', async (id) => {
      const { page } = reader;
      await page.goto(`${stage.target.url}/api/dashboard?tz=utc`);
      await page
        .getByRole('table', { name: /^Cameras/ })
        .locator('bdi')
        .getByText(id, { exact: true })
        .click();
      await expect.poll(() => reader.figure('total_events').innerText()).toBe('1');

      expect(await page.locator('#shown bdi').textContent()).toBe(id);
      expect(new URL(page.url()).searchParams.get('camera_id')).toBe(id);
      expect(await page.getByLabel('Camera', { exact: true }).inputValue()).toBe(id);
      await page.reload();
      await reader.settled();

      expect(await reader.figure('total_events').innerText()).toBe('1');
      expect(await page.locator('#shown bdi').textContent()).toBe(id);
      expect(await page.evaluate('violations')).toEqual([]);
    });
  });

  it('do not widen a page of 360 pixels', async () => {
    const reader = await openPage(stage.browser, {
      url: stage.target.url,
      key: stage.target.key,
      search: `?date=${TODAY}&camera_id=${'x'.repeat(128)}&tz=utc`,
      browser: { viewport: { width: 360, height: 740 } },
      expectedErrors: FIRST_REFUSAL,
    });
    await reader.settled();
    await reader.page.locator('.ids summary').click();

    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await reader.leave();
  });
});
