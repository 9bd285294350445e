import { fireEvent, screen } from '@testing-library/preact';
import { describe, expect, it, vi } from 'vitest';

import { refusal } from '../answers.ts';
import { cellsOf, element, focused, openPage, textOf } from './stage.ts';

it('the quality of the AI has a table of its own, with its UTC days, and the days without figures', async () => {
  const categories = {
    fire: { flagged: 1_116, confirmed: 842, missed: 0 },
    smoke: { flagged: 0, confirmed: 0, missed: 1 },
  };
  const { service } = await openPage({ accuracy: { categories, without: ['2026-11-02'] } }, '?last=7d&tz=utc');
  expect(cellsOf('AI in reviewed frames, UTC days 15 Nov – 21 Nov')).toEqual([
    ['fire', '1,116', '842 (75%)', '274', '0'],
    ['smoke', '0', '–', '0', '1'],
    ['structure', '–', '–', '–', '–'],
  ]);
  expect(service.askedFor('analytics/accuracy')[0]).toBe('analytics/accuracy?date=2026-11-21&days=7');
  expect(screen.getByText(/Days without these figures: 2 Nov\./)).toBeDefined();
});

it('a category may have any name, also one that every object of JavaScript has', async () => {
  const categories = { constructor: { flagged: 4, confirmed: 1, missed: 0 } };
  await openPage({ categories: ['fire', 'constructor', 'prototype'], accuracy: { categories, without: [] } });
  expect(cellsOf('By category').map((row) => row.slice(0, 2))).toEqual([
    ['fire', '10'],
    ['constructor', '2'],
    ['prototype', '0'],
  ]);
  expect(cellsOf(/^AI in reviewed frames/)[1]).toEqual(['constructor', '4', '1 (25%)', '3', '0']);
});

it('a figure has its change against the period before, which is as long', async () => {
  const { service, figure } = await openPage({ previousFrames: 8 }, '?last=6h&tz=utc');
  expect(
    service.askedFor('analytics?ts_utc_start=2026-11-21T00:00:00Z&ts_utc_end=2026-11-21T05:59:59.999999Z'),
  ).toHaveLength(1);
  expect(figure('total_events')).toBe('10');
  const tile = element('[data-fact=total_events]').closest('.tile');
  expect(textOf(tile)).toBe('Camera frames 10 +25% against the 6 hours before');
  expect(tile?.querySelector('.trend')).not.toBeNull();
});

describe('the cameras', () => {
  it('are sorted by fire or by the head of a column; a link leads to one alone, and back to all', async () => {
    const { service, follow } = await openPage({}, '?date=2026-11-20&tz=utc');
    const asked = () => service.askedFor('analytics/cameras?').at(-1);
    expect(asked()).toBe('analytics/cameras?date=2026-11-20&days=1&order_by=fire&accuracy=true&limit=15');
    await follow('smoke');
    expect(asked()).toContain('order_by=smoke');
    expect(element('th[aria-sort=descending]').textContent).toBe('smoke');
    await follow('ridge-2', element('.cameras'));
    expect(service.askedFor('analytics?').at(-1)).toContain('camera_id=ridge-2');
    expect(service.askedFor('analytics/accuracy').at(-1)).toContain('camera_id=ridge-2');
    expect(location.search).toBe('?date=2026-11-20&camera_id=ridge-2&order_by=smoke&tz=utc');
    await follow('ridge-2', element('.cameras'));
    expect(location.search).toBe('?date=2026-11-20&order_by=smoke&tz=utc');
    await follow('False alarms');
    expect(location.search).toBe('?date=2026-11-20&order_by=false_alarms&tz=utc');
    // The column of the order comes first: on a phone it is in sight.
    expect(cellsOf(/^Cameras/).map((row) => row.slice(0, 3).concat(row.slice(-3)))).toEqual([
      ['ridge-2', '• Sending', '2', '3', '1', '1'],
      ['ridge-1', '• Sending', '0', '0', '0', '1'],
    ]);
    // The service does not know this order.
    expect(asked()).toContain('order_by=total_events&accuracy=true&limit=5000');
  });

  it('are sorted by frames if the service knows no fire', async () => {
    const { service } = await openPage({ categories: ['flame'] });
    expect(service.askedFor('analytics/cameras?').at(-1)).toContain('order_by=total_events');
    expect(element('th[aria-sort]').textContent).toBe('Frames');
  });

  it('are 15 of all, 100 on demand, and the service searches', async () => {
    const lastSeen = Object.fromEntries(Array.from({ length: 120 }, (_, camera) => [`camera-${camera}`, 60]));
    const { service, press } = await openPage({ lastSeen });
    expect(cellsOf(/^Cameras/)).toHaveLength(15);
    expect(screen.getByText('15 of 120', { selector: '.screen' })).toBeDefined();
    await press('Show 100 of 120');
    expect(cellsOf(/^Cameras/)).toHaveLength(100);
    fireEvent.input(screen.getByLabelText('Filter'), { target: { value: ' 119 ' } });
    await vi.advanceTimersByTimeAsync(0);
    expect(service.askedFor('analytics/cameras?').at(-1)).toContain('q=119&limit=100');
  });
});

const tile = (): string => textOf(element('[data-fact=camera_now]').closest('.tile'));

describe('cameras that do not send', () => {
  it('are counted, and listed in the table of cameras: silent or gone, the latest first', async () => {
    const lastSeen = { sends: 60, 'ridge-1': 15 * 60, 'ridge-2': 8 * 86_400, 'just-now': 15 * 60 - 1 };
    const { service, figure, follow, advance, lamp } = await openPage({ lastSeen });
    expect([figure('not_sending'), lamp('Cameras')]).toEqual(['2', 'bad: 2 of 4']);
    expect(service.askedFor('analytics/cameras/last-seen')[0]).toContain('date=2026-11-21&days=31&');
    expect(cellsOf(/^Cameras, UTC/).map((row) => row.slice(0, 2))).toEqual([
      ['sends', '• Sending'],
      ['ridge-1', '✕ Silent since 21 Nov 11:45:00 UTC'],
      ['ridge-2', '✕ Gone since 13 Nov 12:00:00 UTC'],
      ['just-now', '• Sending'],
    ]);
    await follow('Show');
    expect(focused()).toBe('Cameras now');
    expect(cellsOf('Cameras that do not send')).toEqual([
      ['ridge-1', '✕ Silent since 21 Nov 11:45:00 UTC', '15 min'],
      ['ridge-2', '✕ Gone since 13 Nov 12:00:00 UTC', '8 days'],
    ]);
    // The view of a camera starts at its figures.
    await follow('ridge-1');
    expect(focused()).toBe('Last 24 hours UTC · ridge-1');
    // A camera that sends again is known at once, and not by the list of ten minutes ago.
    service.lastSeen = { ...lastSeen, 'ridge-1': 0 };
    await follow('All cameras');
    await advance(60_000);
    expect(cellsOf('Cameras that do not send').map(([camera]) => camera)).toEqual(['just-now', 'ridge-2']);
  });

  it('have their time in the view of a camera', async () => {
    const lastSeen = { sends: 60, silent: 3_600 };
    const { follow, figure } = await openPage({ lastSeen }, '?camera_id=silent&tz=utc');
    expect(tile()).toBe('This camera now Silent for 1 h');
    await follow('All cameras');
    expect(figure('not_sending')).toBe('1');
    await follow('sends');
    expect(tile()).toBe('This camera now Sending');
  });

  it('go by the clock of the service, and the page says that the clock of the computer is wrong', async () => {
    const { figure } = await openPage({ date: 'Sat, 21 Nov 2026 11:40:00 GMT', lastSeen: { 'ridge-1': 21 * 60 } });
    expect(figure('not_sending')).toBe('0');
    expect(textOf(element('footer'))).toContain('The clock of this computer is 20 min fast');
  });
});

it('a time without frames leads to the day of the newest frame, and names an unknown camera', async () => {
  const { follow } = await openPage({ frames: 0, lastSeen: { 'ridge-1': 86_400, 'ridge-2': 90_000 } });
  expect(textOf(element('.figures .banner'))).toBe(
    'No camera sent a frame in this time. The newest frame came at 20 Nov 12:00:00 UTC. Show that day',
  );
  // The banner is a row: its words stay one item.
  expect(textOf(element('.figures .banner > :first-child'))).toMatch(/ UTC\.$/);
  await follow('Show that day');
  expect(location.search).toBe('?date=2026-11-20&tz=utc');
  const { figure } = await openPage({ frames: 0 }, '?camera_id=nobody&tz=utc');
  expect(figure('camera_now')).toBe('Unknown');
  expect(textOf(element('.figures .banner'))).toBe(
    'nobody sent nothing in this time. Nothing came in the last 31 days.',
  );
});

it('a figure that is not current has the time of its answer in place of its change, and is not red for that', async () => {
  const { service, advance } = await openPage();
  service.key = 'now';
  await advance(10_000);
  const tiles = Array.from(document.querySelectorAll('.tile'), (each) => [textOf(each), each.matches('.bad')]);
  expect(tiles.map(([text]) => text)).toEqual([
    expect.stringMatching(/^Camera frames 10 As of 21 Nov 12:00:00 UTC$/),
    expect.stringMatching(/^Active cameras 2 As of /),
    expect.stringMatching(/^Not sending now .*0 As of /),
    expect.stringMatching(/^Reviewed frames 1 As of /),
    expect.stringMatching(/^Annotated frames 1 As of /),
  ]);
  expect(tiles.map(([, isBad]) => isBad)).not.toContain(true);
  expect(textOf(element('.plot figcaption'))).toBe('AI detections As of 21 Nov 12:00:00 UTC per 30 minutes');
});

it('the page never shows the figures of one day as those of another, however late they come', async () => {
  const { service, figure, follow, advance } = await openPage();
  const { fetch } = service;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (url.includes('2026-11-20T00')) await new Promise((resolve) => setTimeout(resolve, 5_000));
    return fetch(url, init);
  });
  await follow('Earlier day');
  expect([textOf(element('#shown')), figure('total_events')]).toEqual(['Friday 20 November 2026 UTC', '–']);
  await follow('Later day');
  service.frames = 999;
  await advance(6_000);
  expect(figure('total_events')).toBe('10');
});

it('the key is asked for; the page reports a wrong key, and keeps the right key for the tab', async () => {
  const page = await openPage({ key: 'right' }, '?code=right&tz=utc');
  expect(textOf(element('.key'))).toContain('App keys');
  // For password managers.
  expect(screen.getByLabelText('Function key').getAttribute('autocomplete')).toBe('current-password');
  const field = screen.getByLabelText<HTMLInputElement>('Function key');
  const isValid = (key: string): boolean => {
    field.value = key;
    return field.checkValidity();
  };
  expect(['no key – at all', 'a b', '', ' right '].map(isValid)).toEqual([false, false, false, true]);
  await page.submit({ 'Function key': 'wrong' });
  expect(screen.getByText('The service did not accept this key.')).toBeDefined();
  expect(screen.getByLabelText('Function key').getAttribute('aria-invalid')).toBe('true');
  expect(sessionStorage.length).toBe(0);
  await page.submit({ 'Function key': ' right ' });
  expect(page.lamp('Data')).toBe('good: 0 s old');
  expect(focused()).toMatch(/^Today, /);
  expect(page.service.asked.at(-1)?.key).toBe('right');
  expect(page.service.asked.filter(({ path }) => path.includes('right'))).toEqual([]);
  expect(sessionStorage.getItem('wildfire-camera-activity.function-key')).toBe('right');
  expect([localStorage.length, document.cookie, location.search]).toEqual([0, '', '?tz=utc']);
  await page.reload();
  expect(page.lamp('Data')).toBe('good: 0 s old');
  await page.press('Forget key');
  expect(document.querySelector('[data-fact]')).toBeNull();
  expect(sessionStorage.getItem('wildfire-camera-activity.function-key')).toBeNull();
  expect(document.title).toMatch(/^Data key needed/);
});

describe('the view', () => {
  it('has one control for the range; typed text and the focus stay while answers come', async () => {
    const { service, advance, figure } = await openPage();
    element('#range').showPopover();
    const day = screen.getByLabelText<HTMLInputElement>('Day (UTC)');
    day.value = '2026-11-20';
    day.focus();
    service.frames = 12;
    await advance(20_000);
    expect(figure('total_events')).toBe('12');
    expect([document.activeElement, screen.getByLabelText('Day (UTC)'), day.value]).toEqual([day, day, '2026-11-20']);
    fireEvent.submit(day.closest('form') ?? document.body);
    await advance(0);
    expect(location.search).toBe('?date=2026-11-20&tz=utc');
    expect([textOf(element('#shown')), focused()]).toEqual([
      'Friday 20 November 2026 UTC',
      'Friday 20 November 2026 ▾',
    ]);
  });

  it('is a range that includes its ends, which may come in either order', async () => {
    const { submit } = await openPage();
    element('#range').showPopover();
    await submit({ 'From (UTC)': '2026-11-20T15:29:59', 'To (UTC)': '2026-11-20T10:00' });
    expect(location.search).toBe('?ts_utc_start=2026-11-20T10:00:00Z&ts_utc_end=2026-11-20T15:29:59.999999Z&tz=utc');
    expect(element('#range').dataset['shown']).toBeUndefined();
  });

  it('has the problems of the address, and what the service refuses, in its own words', async () => {
    const refused = refusal(400, { detail: 'At most 366 days.' });
    const { problems } = await openPage({ instead: () => refused.clone() }, '?date=2026-02-30&camera=a&tz=utc');
    expect(textOf(screen.getByRole('alert', { name: '' }))).toMatch(/^camera is not a parameter.* date is not valid/);
    expect(problems().join(' ')).toContain('refused the request (400). At most 366 days.');
  });
});

describe('the camera', () => {
  const lastSeen = Object.fromEntries(Array.from({ length: 1_300 }, (_, camera) => [`camera-${camera}`, 60]));

  it('is found among 1,300 by a part of its name, with the keyboard alone; Escape keeps the old one', async () => {
    const { advance } = await openPage({ lastSeen: { ...lastSeen, 'Ridge ß': 7_200 } });
    const field = screen.getByRole<HTMLInputElement>('combobox', { name: 'Camera' });
    const press = (key: string) => fireEvent.keyDown(field, { key });
    field.focus();
    fireEvent.input(field, { target: { value: 'camera-1' } });
    await advance(0);
    expect(screen.getAllByRole('option')).toHaveLength(50);
    expect(textOf(element('[role=listbox]'))).toMatch(/361 more: type a part of the name$/);
    fireEvent.input(field, { target: { value: 'RIDGE SS' } });
    await advance(0);
    expect(screen.getAllByRole('option').map((option) => textOf(option))).toEqual(['Ridge ß silent for 2 h']);
    press('ArrowDown');
    await advance(0);
    expect(field.getAttribute('aria-activedescendant')).toBe(screen.getByRole('option', { selected: true }).id);
    press('Enter');
    await advance(0);
    expect(new URLSearchParams(location.search).get('camera_id')).toBe('Ridge ß');
    const again = screen.getByRole<HTMLInputElement>('combobox', { name: 'Camera' });
    fireEvent.input(again, { target: { value: 'camera' } });
    await advance(20_000);
    expect(again.value).toBe('camera');
    fireEvent.keyDown(again, { key: 'Escape' });
    await advance(0);
    expect([again.value, screen.queryAllByRole('option')]).toEqual(['Ridge ß', []]);
  });
});
