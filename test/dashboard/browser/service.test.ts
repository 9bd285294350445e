import { describe, expect, it } from 'vitest';

import { demoDays, frame, NOON, YESTERDAY } from './activity.ts';
import { setStage } from './stage.ts';

const stage = setStage(demoDays());

const KEY = 'a-function-key';

describe('the key', () => {
  it('is asked for; a wrong one is told; the right one is kept for this tab only, never in an address', async () => {
    stage.service.key = KEY;
    const { page, ...reader } = await stage.visit({ search: `?date=${YESTERDAY}&code=${KEY}` });
    const { figure, follow, giveKey, press, search, settled } = reader;
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();
    expect(new Set(stage.service.asked.map(({ status, key }) => `${status} ${key}`))).toEqual(new Set(['401 null']));
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
    expect(await page.getByText('Asking the service…').count()).toBeGreaterThan(5);
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
});
