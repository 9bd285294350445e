import { describe, expect, it } from 'vitest';

import { PACES } from '../../../src/dashboard/browser/model/refresh.ts';
import { demoDays, frame, NOON, YESTERDAY } from './activity.ts';
import { setStage } from './stage.ts';

const stage = setStage(demoDays());

const KEY = 'a-function-key';

describe('the key', () => {
  it('is asked for with one question; a wrong one is told; the right one is kept for this tab only, never in an address', async () => {
    stage.service.key = KEY;
    const { page, ...reader } = await stage.visit({ search: `?date=${YESTERDAY}&code=${KEY}` });
    const { figure, follow, giveKey, press, search, settled } = reader;
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();
    expect(stage.service.asked).toEqual([expect.objectContaining({ status: 401, key: null })]);
    expect(await page.evaluate('document.activeElement.id')).toBe('key');
    // For password managers.
    expect(await page.getByLabel('Function key').getAttribute('autocomplete')).toBe('current-password');
    expect(await figure('total_events').count()).toBe(0);

    await giveKey('wrong-key');
    expect(await page.getByRole('alert').getByText('The service did not accept this key.').count()).toBe(1);
    expect(await page.getByLabel('Function key').getAttribute('aria-invalid')).toBe('true');
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await giveKey('no key – at all');
    expect(await page.getByRole('alert').getByText('letters, digits and signs').count()).toBe(1);

    const addresses: string[] = [page.url()];
    page.on('request', (request) => addresses.push(request.url()));
    await giveKey(`  ${KEY} `);
    expect(await page.evaluate('document.activeElement.id')).toBe('shown');
    await follow('Earlier day');
    await page.goBack();
    await page.reload();
    await settled();
    expect(await search()).toBe(`?date=${YESTERDAY}`);
    expect(addresses.length).toBeGreaterThan(8);
    expect(addresses.filter((address) => address.includes(KEY))).toEqual([]);
    expect(addresses.filter((address) => !address.startsWith(`${stage.service.url}/api/`))).toEqual([]);
    expect(await page.evaluate('localStorage.length')).toBe(0);
    expect(await page.context().cookies()).toEqual([]);
    const other = await page.context().newPage();
    await other.goto(`${stage.service.url}/api/dashboard`);
    await other.getByLabel('Function key').waitFor();

    await press('Forget the key');
    expect(await page.getByLabel('Function key').count()).toBe(1);
    expect(await figure('total_events').count()).toBe(0);
    await page.reload();
    await page.getByLabel('Function key').waitFor();
  });

  it('that is not taken any more is asked for again; what is shown stays', async () => {
    stage.service.key = 'first-key';
    const { page, count, giveKey, press } = await stage.open();
    const before = await count('total_events');
    stage.service.key = 'second-key';
    await press('Refresh');
    expect(await page.getByRole('alert').getByText('The service did not accept this key.').count()).toBe(1);
    expect(await count('total_events')).toBe(before);
    await giveKey('second-key');
    expect(stage.service.asked.at(-1)).toMatchObject({ status: 304, key: 'second-key' });
  });
});

describe('a page that is open', () => {
  it('asks whether anything has changed, and changes nothing where nothing has', async () => {
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

  it('shows what was recorded meanwhile, by itself or on demand; the focus and what is open stay', async () => {
    const { page, count, nextRound, press } = await stage.open('?tz=utc');
    const before = await count('total_events');
    await page.locator('.numbers summary').first().click();
    await page.locator('.ids summary').click();
    const camera = page
      .getByRole('table', { name: /^Cameras/ })
      .getByRole('link')
      .nth(6);
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
});

describe('a service in trouble', () => {
  it('that is slow leaves dashes, and never shows one day’s figures as another’s, however late they come', async () => {
    const { service } = stage;
    let held = Promise.withResolvers<void>();
    service.held = held.promise;
    const { page, count, figure, follow, settled } = await stage.visit({ search: '?tz=utc' });
    expect(await page.getByText('Asking the service…').count()).toBe(1);
    expect(await figure('total_events').innerText()).toBe('–');
    held.resolve();
    await settled();
    const today = await count('total_events');

    held = Promise.withResolvers();
    service.held = held.promise;
    await page.getByRole('link', { name: 'Earlier day' }).click();
    await expect.poll(() => service.waiting).toBe(3);
    expect(await page.locator('#shown').innerText()).toBe('Friday 20 November 2026 UTC');
    expect(await figure('total_events').innerText()).toBe('–');
    expect(await page.locator('.legend li, .cameras tbody tr').count()).toBe(0);
    service.held = undefined;
    await follow('Today');
    held.resolve();
    await expect.poll(() => service.waiting).toBe(0);
    await settled();
    expect(await count('total_events')).toBe(today);
  });

  it('that does not answer leaves what was there, with the time of its answer; what was never shown is not claimed', async () => {
    const { page, answeredAt, banner, count, follow, nextRound } = await stage.open('?tz=utc');
    const [before, at] = [await count('total_events'), await answeredAt()];
    stage.service.isAway = true;
    await nextRound();
    expect(await banner.innerText()).toBe(`The service does not answer. You see what it answered at ${at}.`);
    expect(await page.getByText(/^Next try at \d\d:\d\d:\d\d UTC/).count()).toBe(1);
    expect(await count('total_events')).toBe(before);
    await follow('Earlier day');
    expect(await banner.innerText()).toContain('There is nothing to show yet.');
    await follow('Today');
    expect(await banner.innerText()).toContain(`You see what it answered at ${at}.`);
    stage.service.isAway = false;
    await nextRound(60_000);
    expect(await banner.innerText()).toBe('');
  });

  it('that cannot answer now says so in its own words, and is asked again when it wants', async () => {
    const { page, banner, count, figure, nextRound, press, settled } = await stage.open('?tz=utc');
    const before = await count('total_events');
    stage.service.broken = {
      status: 503,
      headers: { 'retry-after': '5', 'content-type': 'application/problem+json' },
      jsonBody: { detail: 'Storage does not answer now.' },
    };
    await press('Refresh');
    expect(await banner.innerText()).toContain('Storage does not answer now.');
    expect(await count('total_events')).toBe(before);
    stage.service.broken = undefined;
    // When it wants.
    await nextRound(5_000);
    expect(await banner.innerText()).toBe('');

    stage.service.broken = { status: 200, jsonBody: { total_events: 'many' } };
    await page.reload();
    await settled();
    expect(await banner.innerText()).toContain('does not understand');
    expect(await figure('total_events').innerText()).toBe('–');
  });
});

it('a service with PHONE=off is shown as one, and is asked once a minute whether that is still so', async () => {
  const { service } = stage;
  service.hasPhone = false;
  const questions = (): number => service.asked.filter(({ path }) => path.startsWith('/api/notifications')).length;
  const { page, banner, count, nextRound, press } = await stage.open(`?date=${YESTERDAY}&tz=utc`);
  const said = page.getByText('(PHONE=off)');
  await nextRound(PACES.past.every);
  // The list, and what needs attention.
  expect([questions(), await said.count()]).toEqual([4, 1]);
  await press('Refresh');
  expect(questions()).toBe(6);
  expect(await page.locator('.refresh.current').count()).toBe(1);
  // Nothing is wrong with the rest.
  expect(await banner.innerText()).toBe('');
  expect(await count('total_events')).toBeGreaterThan(100);
});
