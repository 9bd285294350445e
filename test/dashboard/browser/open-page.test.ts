import { expect, it } from 'vitest';

import { TODAY, YESTERDAY } from '../answers.ts';
import { openPage, searchOf } from './stage.ts';

it('the address holds the view; back and forward lead through it', async () => {
  const first = `?date=${YESTERDAY}&camera_id=ridge-1&order_by=smoke&tz=utc`;
  const { page } = await openPage({ search: first });
  // For another tab.
  expect(await page.getByRole('link', { name: 'Later day' }).getAttribute('href')).toBe(
    '/api/dashboard?camera_id=ridge-1&order_by=smoke&tz=utc',
  );
  await page.getByRole('link', { name: 'All cameras' }).click();
  await page.getByRole('button', { name: /^Range/ }).click();
  await page.getByRole('button', { name: 'Show range' }).focus();
  await page.keyboard.press('Tab');
  expect(await page.locator('#range').isVisible(), 'the last tab stop closes the panel').toBe(false);
  expect(await page.evaluate('document.activeElement.ariaLabel'), 'the element after the button').toBe('Later day');
  await page.getByRole('button', { name: /^Range/ }).click();
  await page.getByRole('link', { name: 'Last hour' }).click();
  expect(await page.locator('#range').isVisible(), 'the panel is closed').toBe(false);
  expect(await page.title()).toBe('Last hour · Camera activity');
  expect(searchOf(page)).toBe('?last=1h&order_by=smoke&tz=utc');
  await page.goBack();
  await page.goBack();
  expect(searchOf(page)).toBe(first);
  await expect.poll(() => page.locator('#shown').innerText()).toBe('Friday 20 November 2026 UTC · ridge-1');
  await page.goForward();
  await expect.poll(() => page.locator('#shown').innerText()).toBe('Friday 20 November 2026 UTC');
});

it('times are local, or UTC by a switch that the address has and the browser keeps; titles have the other zone', async () => {
  const { page, service } = await openPage({ search: '', service: { lastSeen: { 'ridge-1': 60, silent: 3_600 } } });
  expect(service.askedFor('analytics?').join()).toContain(`ts_utc_start=${TODAY}T08:00:00Z`);
  expect(await page.locator('#shown').innerText()).toBe('Today, Saturday 21 November 2026 PST');
  const time = page.locator('time').first();
  expect(await time.innerText()).toBe('21 Nov 03:00:00 PST');
  expect(await page.locator('time').filter({ hasText: 'UTC' }).count()).toBe(0);
  expect(await page.locator('time:not([title$=" UTC"])').count()).toBe(0);
  expect(await page.locator('.marks').first().innerText()).toMatch(/^21 Nov\s+04:00\s+08:00/);

  await page.getByRole('link', { name: /show UTC/ }).click();
  expect(searchOf(page)).toBe('?tz=utc');
  await expect.poll(() => time.innerText()).toBe('21 Nov 11:00:00 UTC');
  expect(await time.getAttribute('title')).toBe('21 Nov 03:00:00 PST');
  await page.goto(page.url().replace('?tz=utc', `?date=${YESTERDAY}`));
  expect(searchOf(page)).toBe(`?date=${YESTERDAY}&tz=utc`);
  await page.getByRole('link', { name: /show local time/ }).click();
  await page.reload();
  await page.getByRole('link', { name: /show UTC/ }).waitFor();
});
