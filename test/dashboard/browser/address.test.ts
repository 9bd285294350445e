import { describe, expect, it } from 'vitest';

import { demoDays, frame, NOON, TODAY, YESTERDAY } from './activity.ts';
import { type Reader, setStage } from './stage.ts';

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

  it('that is wrong is told; what the service does not take, in its own words; each once', async () => {
    const { page, figure, settled } = await stage.open('?date=2026-02-30&camera=a');
    const alerts = page.getByRole('alert').filter({ hasText: /\S/ });
    expect((await alerts.allInnerTexts()).map((text) => text.split(/\n+/))).toEqual([
      [
        'camera is no parameter of this page.',
        'date must be a day that exists, such as 2026-11-21.',
        'Today is shown.',
      ],
    ]);
    expect(await page.getByLabel('Day (local)').inputValue()).toBe(TODAY);

    const { url } = stage.service;
    await page.goto(`${url}/api/dashboard?ts_utc_start=2020-01-01T00:00:00Z&ts_utc_end=2026-01-01T00:00:00Z`);
    await settled();
    expect(await page.getByText(/did not accept this question \(400\)\. .*366/).count()).toBe(1);
    expect(await page.getByText(/366/).count()).toBe(1);
    expect(await figure('total_events').innerText()).toBe('–');
  });
});

/** Something has changed, and the page has asked and shown it. */
const pollOnce = async (reader: Reader): Promise<void> => {
  await stage.service.record([frame('tower-7', NOON - 60_000)]);
  await reader.nextRound();
};

describe('what somebody is typing', () => {
  it('stays, whatever is answered meanwhile, and is shown when it is submitted', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const entries = await page.evaluate('history.length');
    await page.getByText('Range…').click();
    const [camera, from, until] = [
      page.getByLabel('Camera', { exact: true }),
      page.getByLabel('From (UTC)'),
      page.getByLabel('to (UTC)', { exact: true }),
    ];
    await from.fill(`${TODAY} 08`);
    await camera.pressSequentially('tow');
    await pollOnce(reader);
    await camera.pressSequentially('er-7');
    await pollOnce(reader);
    expect([await from.inputValue(), await camera.inputValue()]).toEqual([`${TODAY} 08`, 'tower-7']);
    expect(await page.evaluate('document.activeElement.id')).toBe('camera');
    expect(await page.evaluate('history.length')).toBe(entries);

    await from.press('End');
    await from.pressSequentially(':30');
    await until.fill('8 pm');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').getByText('To is no time').count()).toBe(1);
    await until.fill(`${TODAY} 07:45`);
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').getByText('From is after To.').count()).toBe(1);
    expect(await reader.search()).toBe('?tz=utc');
    await until.fill(`${TODAY} 17:45`);
    await page.keyboard.press('Enter');
    expect(await reader.search()).toBe(`?ts_utc_start=${TODAY}T08:30:00Z&ts_utc_end=${TODAY}T17:45:00.999999Z&tz=utc`);
    expect(await camera.inputValue()).toBe('tower-7');
    await camera.press('Enter');
    expect(await reader.search()).toContain('camera_id=tower-7');
  });

  it('is no day before it is there wholly: no view, no entry of the history', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const entries = Number(await page.evaluate('history.length'));
    const day = page.getByLabel('Day (UTC)');
    await day.focus();
    await page.keyboard.type('112');
    await pollOnce(reader);
    await page.keyboard.type('02026');
    await pollOnce(reader);
    expect(await page.evaluate('history.length')).toBe(entries);
    expect(await reader.search()).toBe('?tz=utc');
    expect(await day.inputValue()).toBe(YESTERDAY);

    await reader.press('Show day');
    expect(await reader.search()).toBe(`?date=${YESTERDAY}&tz=utc`);
    expect(await page.evaluate('history.length')).toBe(entries + 1);
    // One that is picked is wanted at once.
    await day.fill('2020-02-20');
    expect(await reader.search()).toBe('?date=2020-02-20&tz=utc');
  });
});

describe('times', () => {
  it('are local: today is the local day, each time is printed in one zone, with the other one in its title', async () => {
    const { page } = await stage.open();
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
  });

  it('are UTC by a switch, that the address has and the browser keeps', async () => {
    const { page, follow, search } = await stage.open();
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
