import { screen, within } from '@testing-library/preact';
import { describe, expect, it, vi } from 'vitest';

import { before, missed, notification, person } from '../answers.ts';
import { element, focused, openPage, textOf } from './stage.ts';

/** Stands for the browser's sound and desktop notifications, and records them. */
const hear = () => {
  const heard = { tones: 0, shown: [] as string[] };
  const node = { connect: () => node, frequency: {}, gain: {}, start: () => (heard.tones += 1), stop: () => undefined };
  class Sound {
    readonly state = 'running';
    readonly currentTime = 0;
    readonly createGain = () => node;
    readonly createOscillator = () => node;
  }
  class Shown extends EventTarget {
    static permission = 'default';
    static readonly requestPermission = async () => (this.permission = 'granted');
    constructor(_: string, { body }: { readonly body: string }) {
      super();
      heard.shown.push(body);
    }
  }
  vi.stubGlobal('AudioContext', Sound);
  vi.stubGlobal('Notification', Shown);
  return heard;
};

/** Acknowledges an alert of the strip. */
const take = async ({ press, submit }: Awaited<ReturnType<typeof openPage>>, index: number, by: string) => {
  const line = element(`.alert:nth-child(${index + 1})`);
  await press('I have it', line);
  await submit({ Name: by }, within(line).getByLabelText('Who has it?'));
};

describe('the strip', () => {
  it('has place, reference, progress, next wave and age of each alert', async () => {
    const { strip } = await openPage({
      notifications: [
        notification('fire', {
          details: 'North ridge, mile 4',
          reference: 'ridge-1 https://example.org/1 javascript:alert(1) https://user:word@example.org/2',
          confirmations_needed: 2,
          next_wave_at: before(-40),
          recipients: [person('00', 'confirmed', { name: 'Ana' }), person('01', 'ringing'), person('02', 'waiting')],
        }),
      ],
    });
    expect(strip()).toEqual([
      '… Confirmed by 1 of 2 Confirmed fire North ridge, mile 4 ridge-1 https://example.org/1 javascript:alert(1) https://user:word@example.org/2 1 of 3 reached, 1 ringing, 1 waiting, next wave in 40 s, 1 min ago',
    ]);
    const links = [...document.querySelectorAll<HTMLAnchorElement>('.reference a')];
    expect(links.map((link) => [link.textContent, link.rel])).toEqual([
      ['ridge-1', ''],
      ['https://example.org/1', 'noopener noreferrer'],
    ]);
  });

  it('has red before gray, fires before other types, drills last, and the newest first', async () => {
    const taken = { acknowledged_by: 'Ana', acknowledged_at: before(30) };
    const { strip, follow } = await openPage({
      notifications: [
        notification('drill', { alert_type: 'Custom', created_at: before(1) }),
        notification('taken drill', { alert_type: 'Custom', ...taken }),
        notification('old fire', { alert_type: 'ReportOfFire', created_at: before(900) }),
        notification('taken fire', { ...taken }),
        notification('anomaly', { alert_type: 'Anomaly', created_at: before(2) }),
        notification('new', { created_at: before(3) }),
        notification('worse', { alert_type: 'BurnJob', ...taken, worsened_since_acknowledged: true }),
      ],
    });
    const types = strip().map((line) => /Confirmed fire|Report of fire|Anomaly|Custom|Burn job/.exec(line)?.[0]);
    expect(types.slice(0, 5)).toEqual(['Confirmed fire', 'Report of fire', 'Anomaly', 'Burn job', 'Custom']);
    expect(types.slice(5)).toEqual(['Confirmed fire', 'Custom']);
    expect(document.title).toMatch(/^\(5\) /);
    await follow('5 alerts');
    expect(document.activeElement?.id).toBe('attention');
    await follow(/Confirmed fire/);
    expect(location.search).toBe('?notification=new&tz=utc');
    expect(document.activeElement?.getAttribute('aria-expanded')).toBe('true');
  });
});

describe('"I have it"', () => {
  it('tells the name to all readers; the alert is gray, not counted, and keeps place and progress', async () => {
    const others = notification('other', { alert_type: 'Anomaly' });
    const page = await openPage({ notifications: [notification('fire', { details: 'Mile 4' }), others] });
    page.service.instead = () => 'away';
    await take(page, 0, 'Ana');
    expect(page.strip().join(' ')).toContain('The action failed. The service does not answer.');
    page.service.instead = () => undefined;
    await page.advance(10_000);
    expect(page.strip().join(' ')).not.toContain('The action failed.');
    await take(page, 0, '  Ana ');
    expect(page.service.asked.findLast(({ method }) => method === 'POST')).toMatchObject({
      path: 'notifications/fire/acknowledge',
      body: '{"by":"Ana"}',
    });
    expect(page.strip()[1]).toBe(
      '… In progress Confirmed fire Mile 4 0 of 1 reached, 1 ringing, 1 min ago Ana has it 0 s ago',
    );
    expect(document.title).toMatch(/^\(1\) /);
    expect(focused()).toBe('… In progress Confirmed fire');
    await page.follow(/Confirmed fire/);
    expect(textOf(element('.story'))).toContain('Ana has it since 12:00:10 UTC');
    // The next shift uses the same screen.
    await take(page, 1, 'Bo');
    expect(page.strip()[1]).toContain('Bo has it');
  });

  it('hides nothing: an outcome that becomes worse is red, counts and sounds again', async () => {
    const heard = hear();
    const page = await openPage({ notifications: [notification('fire')] });
    await page.press('Sound off · turn on');
    expect(heard.tones).toBe(3);
    await take(page, 0, 'Ana');
    expect(document.title).toMatch(/^Today/);
    const worsened_since_acknowledged = true;
    const ana = { acknowledged_by: 'Ana', acknowledged_at: before(0), worsened_since_acknowledged } as const;
    page.service.notifications = [missed('fire', ana)];
    await page.advance(8_000);
    expect(page.strip()).toEqual([
      '✕ 1 not reached Confirmed fire 0 of 1 reached, 1 min ago Ana has it 8 s ago, and it has become worse since',
    ]);
    expect(element('.attention').className).toBe('attention');
    expect(document.title).toMatch(/^\(1\) /);
    expect(heard.tones).toBe(6);
    // Another reader acknowledged it, and it became worse again, between two answers.
    page.service.notifications = [missed('fire', { ...ana, acknowledged_at: before(-10) })];
    await page.advance(16_000);
    expect(heard.tones).toBe(9);
    await take(page, 0, 'Bo');
    expect(element('.attention').className).toBe('attention calm');
    expect(document.title).toMatch(/^Today/);
  });
});

describe('the sound', () => {
  it('is offered once, with the first key, and off until then; it comes once for each new alert', async () => {
    const heard = hear();
    await openPage();
    expect(screen.queryByRole('region', { name: 'Sound' }), 'without a key').toBeNull();
    const page = await openPage({ key: 'a-key', notifications: [missed('old')] }, '?tz=utc', 'a-key');
    expect(screen.getByRole('region', { name: 'Sound' })).toBeDefined();
    await page.press('Leave it off');
    expect(localStorage.getItem('wildfire-camera-activity.sound'), 'for all tabs').toBe('off');
    await page.reload();
    expect(screen.queryByRole('region', { name: 'Sound' })).toBeNull();
    page.service.notifications = [notification('new'), missed('old')];
    await page.advance(8_000);
    expect(heard.tones).toBe(0);
    await page.press('Sound off · turn on');
    page.service.notifications = [notification('fire', { details: 'Mile 4' }), ...page.service.notifications];
    await page.advance(16_000);
    expect(heard).toEqual({ tones: 6, shown: ['Confirmed fire: Mile 4'] });
    await page.press('Sound on · turn off');
    page.service.notifications = [notification('another'), ...page.service.notifications];
    await page.advance(8_000);
    expect(heard.tones).toBe(6);
  });

  it('comes if the page is blind: no answer, no calls are possible, no camera sends, or a refused key', async () => {
    const { shown } = hear();
    // After a minute, this frame is 15 minutes old.
    const aging = { key: 'a-key', lastSeen: { 'ridge-1': 890 } };
    const { service, advance, press, strip } = await openPage(aging, '?tz=utc', 'a-key');
    await press('Sound off · turn on');
    service.instead = () => 'away';
    await advance(8_500);
    expect(shown).toEqual([]);
    await advance(8_000);
    service.instead = () => undefined;
    await advance(20_000);
    service.phone = { usable: false, reason: 'refused' };
    await advance(8_000);
    service.phone = { usable: true };
    await advance(20_000);
    expect(shown).toEqual([
      'The page cannot tell whether there are alerts.',
      'The service cannot place calls: refused.',
      'No camera is sending.',
    ]);
    expect(strip()).toEqual(['✕ No camera has sent since 21 Nov 11:45:10 UTC (15 min ago)']);
    expect(document.title).toMatch(/^No camera is sending · Today/);
    service.key = 'another';
    await advance(8_000);
    expect(shown.slice(3)).toEqual(['The page cannot tell whether there are alerts.']);
  });
});
