import { describe, expect, it } from 'vitest';

import { demoDays, TODAY, YESTERDAY } from './activity.ts';
import { setStage } from './stage.ts';

const stage = setStage(demoDays());

describe('the address', () => {
  it('says what is shown; back and forward lead through it', async () => {
    const first = `?date=${YESTERDAY}&camera_id=bear-creek&order_by=smoke&tz=utc`;
    const { page, count, follow, search, settled } = await stage.open(first);
    expect(await page.getByLabel('Day (UTC)').inputValue()).toBe(YESTERDAY);
    expect(await page.getByLabel('Camera', { exact: true }).inputValue()).toBe('bear-creek');
    expect(await page.locator('th[aria-sort]').innerText()).toMatch(/^smoke/);
    expect(await count('active_cameras')).toBe(1);
    expect(await search()).toBe(first);
    // For another tab.
    expect(await page.getByRole('link', { name: 'Later day' }).getAttribute('href')).toBe(
      '/api/dashboard?camera_id=bear-creek&order_by=smoke&tz=utc',
    );

    await follow('All cameras');
    expect(await count('active_cameras')).toBe(20);
    await follow('Last 1 h');
    expect(await page.title()).toBe('Last hour · Camera activity');
    expect(await search()).toBe('?last=1h&order_by=smoke&tz=utc');
    await page.goBack();
    await page.goBack();
    await settled();
    expect([await search(), await count('active_cameras')]).toEqual([first, 1]);
    await page.goForward();
    await settled();
    expect(await count('active_cameras')).toBe(20);
    expect(await search()).toBe(`?date=${YESTERDAY}&order_by=smoke&tz=utc`);
  });
});

describe('times', () => {
  it('are local, and UTC by a switch that the address has and the browser keeps; the other one is in each title', async () => {
    const { page, follow, search } = await stage.open();
    const activity = stage.service.asked.findLast(({ path }) => path.includes('active_camera_ids=false'));

    expect(activity?.path).toContain(`ts_utc_start=${TODAY}T08%3A00%3A00Z`);
    expect(await page.locator('#shown').innerText()).toBe('Today, Saturday 21 November 2026 PST');
    expect(await page.locator('.period').innerText()).toContain(
      `From ${TODAY} 00:00:00 PST to ${TODAY} 23:59:59.999999 PST`,
    );
    expect(await page.locator('time').filter({ hasText: 'UTC' }).count()).toBe(0);
    expect(await page.locator('time:not([title$=" UTC"])').count()).toBe(0);
    expect(await page.locator('.marks').first().innerText()).toMatch(/^21 Nov\s+04:00\s+08:00/);
    expect(await page.getByLabel('Day (local)').inputValue()).toBe(TODAY);

    await follow('UTC');
    expect(await page.getByLabel('Day (UTC)').count()).toBe(1);
    expect(await search()).toBe('?tz=utc');
    expect(await page.locator('.period').innerText()).toContain(`From ${TODAY} 00:00:00 UTC`);
    expect(await page.locator('.period time').first().getAttribute('title')).toBe(`${YESTERDAY} 16:00:00 PST`);
    await page.goto(`${stage.service.url}/api/dashboard?date=${YESTERDAY}`);
    expect(await page.getByLabel('Day (UTC)').count()).toBe(1);
    expect(await search()).toBe(`?date=${YESTERDAY}&tz=utc`);

    await follow('Local time');
    await page.reload();
    expect(await page.getByLabel('Day (local)').count()).toBe(1);
    expect(await search()).toBe(`?date=${YESTERDAY}`);
    // Back is exact: that view was in UTC.
    await page.goBack();
    await page.getByLabel('Day (UTC)').waitFor();
  });
});
