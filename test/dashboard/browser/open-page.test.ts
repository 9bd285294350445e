import { expect, it } from 'vitest';

import { NOON, notification, TODAY, YESTERDAY } from '../answers.ts';
import { demoDays, frame } from './activity.ts';
import { setStage } from './stage.ts';

const stage = setStage(demoDays());

const KEY = 'a-function-key';

it('the address holds the view; back and forward lead through it', async () => {
  const first = `?date=${YESTERDAY}&camera_id=bear-creek&order_by=smoke&tz=utc`;
  const { page, count, follow, search, settled } = await stage.open(first);
  expect(await page.getByLabel('Day (UTC)').inputValue()).toBe(YESTERDAY);
  expect(await page.getByLabel('Camera', { exact: true }).inputValue()).toBe('bear-creek');
  expect(await count('active_cameras')).toBe(1);
  // For another tab.
  expect(await page.getByRole('link', { name: 'Later day' }).getAttribute('href')).toBe(
    '/api/dashboard?camera_id=bear-creek&order_by=smoke&tz=utc',
  );
  await follow('All cameras');
  await follow('Last 1 h');
  expect(await page.title()).toBe('Last hour · Camera activity');
  expect(await search()).toBe('?last=1h&order_by=smoke&tz=utc');
  await page.goBack();
  await page.goBack();
  await settled();
  expect([await search(), await count('active_cameras')]).toEqual([first, 1]);
  await page.goForward();
  await settled();
  expect([await search(), await count('active_cameras')]).toEqual([`?date=${YESTERDAY}&order_by=smoke&tz=utc`, 20]);
});

it('times are local, or UTC by a switch that the address has and the browser keeps; titles have the other zone', async () => {
  const { page, follow, search } = await stage.open();
  expect(stage.service.askedFor('analytics?').join()).toContain(`ts_utc_start=${TODAY}T08:00:00Z`);
  expect(await page.locator('#shown').innerText()).toBe('Today, Saturday 21 November 2026 PST');
  expect(await page.locator('time').filter({ hasText: 'UTC' }).count()).toBe(0);
  expect(await page.locator('time:not([title$=" UTC"])').count()).toBe(0);
  expect(await page.locator('.marks').first().innerText()).toMatch(/^21 Nov\s+04:00\s+08:00/);

  await follow('UTC');
  expect(await search()).toBe('?tz=utc');
  expect(await page.locator('.period time').first().innerText()).toBe(`${TODAY} 00:00:00 UTC`);
  expect(await page.locator('.period time').first().getAttribute('title')).toBe(`${YESTERDAY} 16:00:00 PST`);
  await page.goto(`${stage.service.url}/api/dashboard?date=${YESTERDAY}`);
  expect(await page.getByLabel('Day (UTC)').count()).toBe(1);
  expect(await search()).toBe(`?date=${YESTERDAY}&tz=utc`);
  await follow('Local time');
  await page.reload();
  expect(await page.getByLabel('Day (local)').count()).toBe(1);
});

it('the key stays in its tab: never in an address, a cookie, or another tab', async () => {
  stage.service.key = KEY;
  const { page, follow, giveKey, search, settled } = await stage.visit({ search: `?date=${YESTERDAY}&code=${KEY}` });
  // For password managers.
  expect(await page.getByLabel('Function key').getAttribute('autocomplete')).toBe('current-password');
  const addresses: string[] = [page.url()];
  page.on('request', (request) => addresses.push(request.url()));
  await giveKey(`  ${KEY} `);
  await follow('Earlier day');
  await page.goBack();
  await page.reload();
  await settled();
  expect(await search()).toBe(`?date=${YESTERDAY}`);
  expect(addresses.length).toBeGreaterThan(8);
  expect(addresses.filter((each) => each.includes(KEY))).toEqual([]);
  expect(addresses.filter((each) => !each.startsWith(`${stage.service.url}/api/`))).toEqual([]);
  expect(await page.evaluate('localStorage.length')).toBe(0);
  expect(await page.context().cookies()).toEqual([]);
  const other = await page.context().newPage();
  await other.goto(`${stage.service.url}/api/dashboard`);
  await other.getByLabel('Function key').waitFor();
});

it('an open page polls, and changes nothing if nothing has changed', async () => {
  const { page, nextRound } = await stage.open();
  await page.evaluate(`
    window.changes = [];
    new MutationObserver((records) => changes.push(...records.map(({ target }) => target.nodeName + ' ' + target.textContent)))
      .observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true });
  `);
  const from = stage.service.asked.length;
  await nextRound();
  await nextRound();
  expect(stage.service.asked.slice(from).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 304));
  expect(await page.evaluate('changes')).toEqual([]);
});

it('an open page shows new frames by itself or on demand; the focus and open details stay', async () => {
  const { page, count, nextRound, press } = await stage.open('?tz=utc');
  const before = await count('total_events');
  await page.locator('.numbers summary').first().click();
  await page.locator('.ids summary').click();
  const camera = page.locator('.cameras tbody a').nth(6);
  const id = await camera.innerText();
  await camera.focus();
  await stage.service.record([frame('new-camera', NOON - 3_600_000, { detections: { fire: 1_000 } })]);
  await nextRound();
  expect(await count('total_events')).toBe(before + 1);
  expect(await page.locator('.plot').first().locator('.legend').innerText()).toMatch(/fire\s+1,0/);
  expect(await page.evaluate('document.activeElement.textContent')).toBe(id);
  expect(await page.locator('details[open]').count()).toBe(2);
  await stage.service.record([frame('new-camera', NOON - 3_500_000)]);
  await press('Refresh');
  expect(await count('total_events')).toBe(before + 2);
});

it('an alert stays in sight on a phone that has scrolled, leads to the strip, and keeps the focus', async () => {
  const { page, nextRound } = await stage.open('?tz=utc', { viewport: { width: 390, height: 844 } });
  await page.evaluate('scrollTo(0, 3000)');
  stage.service.notifications = [notification('fire')];
  await nextRound();
  const count = page.getByRole('link', { name: '1 alert' });
  const { y = -1, height = 0 } = (await count.boundingBox()) ?? {};
  expect(y).toBeGreaterThanOrEqual(0);
  // Narrow: most of a phone is for the figures.
  expect(y + height).toBeLessThan(90);
  await count.click();
  expect(await page.evaluate('document.activeElement.id')).toBe('attention');
  await expect.poll(async () => (await page.locator('.attention').boundingBox())?.y ?? -1).toBeGreaterThanOrEqual(0);
  expect((await page.locator('.attention').boundingBox())?.y).toBeLessThan(844);
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.keyboard.type('Ana');
  await page.keyboard.press('Enter');
  await page.getByText('Ana has it').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain('Confirmed fire');
});
