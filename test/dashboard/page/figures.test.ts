import { fireEvent, screen } from '@testing-library/preact';
import { describe, expect, it } from 'vitest';

import { PageAnswers, refusal } from './answers.ts';
import { cellsOf, element, expectTitle, focused, openPage, textOf } from './stage.ts';

describe('accuracy', () => {
  it('stands in the table by category with its numbers, and the page names the UTC days and those without', async () => {
    const service = new PageAnswers();
    service.accuracy = {
      fire: { flagged: 40, confirmed: 3, missed: 2 },
      smoke: { flagged: 0, confirmed: 0, missed: 1 },
    };
    service.without = ['2026-11-02'];
    await openPage({ service, search: '?last=7d&tz=utc' });
    expect(cellsOf('By category').map((row) => [row[0], row.at(-1)])).toEqual([
      ['fire', '3 of 40 confirmed, 2 missed'],
      ['smoke', 'none flagged, 1 missed'],
      ['structure', '–'],
    ]);
    expect(service.askedFor('analytics/accuracy')[0]).toBe('analytics/accuracy?date=2026-11-21&days=7');
    expect(
      screen.getByRole('columnheader', { name: /AI flags in reviewed frames UTC days 15 Nov – 21 Nov/ }),
    ).toBeDefined();
    expect(textOf(element('main'))).toContain('Days without these figures: 2 Nov.');
    expect(textOf(element('main'))).not.toContain('%  confirmed');
  });

  it('of each camera tells which one cries wolf: the most that was flagged and not confirmed comes first', async () => {
    const service = new PageAnswers();
    service.lastSeen = { a: 60, b: 60, c: 60 };
    const { follow } = await openPage({ service });
    expect(cellsOf(/^Cameras/).map(([name]) => name)).toEqual(['a', 'b', 'c']);
    expect(service.askedFor('analytics/cameras?')[0]).toContain('accuracy=true');
    await follow('Not confirmed');
    expect(location.search).toBe('?order_by=not_confirmed&tz=utc');
    expect(cellsOf(/^Cameras/).map((row) => row.slice(0, 1).concat(row.slice(-4)))).toEqual([
      ['c', '6', '2', '1', '4'],
      ['b', '3', '1', '1', '2'],
      ['a', '0', '0', '1', '0'],
    ]);
    // The service does not know this order: all cameras are asked for.
    expect(service.askedFor('analytics/cameras?').at(-1)).toContain('order_by=total_events&accuracy=true&limit=5000');
  });
});

const tile = (): string => textOf(element('[data-fact=camera_now]').closest('.tile'));

describe('silence', () => {
  it('is counted and listed, the camera that fell silent last first; the figure leads to the list', async () => {
    const service = new PageAnswers();
    service.lastSeen = { sends: 60, 'ridge-1': 16 * 60, 'ridge-2': 3 * 86_400, 'just-now': 14 * 60 };
    const { figure, follow } = await openPage({ service });
    expect(figure('silent_cameras')).toBe('2');
    expect(cellsOf('Silent cameras')).toEqual([
      ['ridge-1', '21 Nov 11:44:00 UTC', '16 min'],
      ['ridge-2', '18 Nov 12:00:00 UTC', '3 days'],
    ]);
    await follow('Which ones?');
    expect(focused()).toBe('Silent cameras');
    expect(element('.aside').firstElementChild?.textContent).toContain('Silent cameras');
    // The view of a camera is at its figures.
    await follow('ridge-1');
    expect(focused()).toBe('Last 24 hours UTC · ridge-1');
  });

  it('of the camera that is shown alone is said with since when', async () => {
    const service = new PageAnswers();
    service.lastSeen = { sends: 60, silent: 3_600 };
    const { follow } = await openPage({ service, search: '?camera_id=silent&tz=utc' });
    expect(tile()).toBe('This camera now Silent since 21 Nov 11:00:00 UTC (1 h)');
    await follow('All cameras');
    expect(textOf(element('[data-fact=silent_cameras]'))).toBe('1');
    element('#camera').setAttribute('value', 'sends');
    fireEvent.submit(element('#camera').closest('form') ?? document.body);
    expect(tile()).toBe('This camera now Sends');
  });

  it('goes by the service’s clock, and says that the one of the computer is wrong', async () => {
    const service = new PageAnswers();
    service.date = 'Sat, 21 Nov 2026 11:40:00 GMT';
    service.lastSeen = { 'ridge-1': 21 * 60 };
    const { figure } = await openPage({ service });
    expect(figure('silent_cameras')).toBe('0');
    expect(textOf(element('footer'))).toContain('The clock of this computer is 20 min fast');
  });
});

describe('an empty time', () => {
  it('leads to the day of the newest frame', async () => {
    const service = new PageAnswers();
    service.frames = 0;
    service.lastSeen = { 'ridge-1': 86_400 };
    const { follow } = await openPage({ service });
    expect(screen.getByText(/^No camera sent a frame in this time/).textContent).toContain('20 Nov 12:00:00 UTC');
    await follow('Show that day');
    expect(location.search).toBe('?date=2026-11-20&tz=utc');
  });

  it('of an unknown camera says so', async () => {
    const service = new PageAnswers();
    service.frames = 0;
    const { figure } = await openPage({ service, search: '?camera_id=nobody&tz=utc' });
    expect(figure('camera_now')).toBe('Unknown');
    expect(textOf(element('.figures .banner'))).toBe(
      'nobody sent nothing in this time. Nothing came in the last 7 days.',
    );
  });
});

it('before the first answers, each part says that it asks; nothing can be downloaded', async () => {
  const service = new PageAnswers();
  service.instead = (path) => (path.startsWith('analytics') ? 'hang' : undefined);
  const { head, figure } = await openPage({ service });
  expect(head().color).toBe('gray');
  expect(head().words).toMatch(/^Asking the service…/);
  expect(figure('total_events')).toBe('–');
  expect(screen.getAllByText('Asking the service…').length).toBeGreaterThanOrEqual(5);
  expect(screen.queryAllByRole('button', { name: /^Download CSV/ })).toEqual([]);
});

describe('the key', () => {
  it('is asked for, with where to get one; a wrong one is told; the right one is kept for the tab and never in the address', async () => {
    const service = new PageAnswers();
    service.key = 'right';
    const page = await openPage({ service, search: '?code=right&tz=utc' });
    expect(location.search).toBe('?tz=utc');
    expect(textOf(element('.key'))).toContain('App keys');
    const give = async (key: string): Promise<void> => {
      screen.getByLabelText<HTMLInputElement>('Function key').value = key;
      fireEvent.submit(element('.key form'));
      await page.advance(0);
    };
    await give('no key – at all');
    expect(screen.getByText(/^A key consists of letters/)).toBeDefined();
    await give('wrong');
    expect(screen.getByText('The service did not accept this key.')).toBeDefined();
    expect(sessionStorage.length).toBe(0);
    await give(' right ');
    expect(page.head().color).toBe('green');
    expect(focused()).toMatch(/^Today, /);
    expect(service.asked.at(-1)?.key).toBe('right');
    expect(service.asked.every(({ path }) => !path.includes('right'))).toBe(true);
    await page.press('Forget the key');
    expect(document.querySelector('[data-fact]')).toBeNull();
    expect(sessionStorage.getItem('wildfire-camera-activity.function-key')).toBeNull();
    expectTitle(/^Key needed/);
  });
});

describe('what is shown', () => {
  it('is chosen by a form: a day and a camera; what somebody types stays while answers come', async () => {
    const { service, advance } = await openPage();
    const day = screen.getByLabelText<HTMLInputElement>('Day (UTC)');
    const camera = screen.getByLabelText<HTMLInputElement>('Camera');
    day.value = '2026-11-20';
    camera.value = 'ridge-2';
    service.frames = 12;
    await advance(20_000);
    expect([day.value, camera.value]).toEqual(['2026-11-20', 'ridge-2']);
    expect(location.search).toBe('?tz=utc');
    fireEvent.submit(day.closest('form') ?? document.body);
    await advance(0);
    expect(location.search).toBe('?date=2026-11-20&camera_id=ridge-2&tz=utc');
    expect(textOf(element('#shown'))).toBe('Friday 20 November 2026 UTC · ridge-2');
  });

  it('is a range whose ends are included, in whichever order they are given', async () => {
    const { advance } = await openPage();
    const [from, until] = [
      screen.getByLabelText<HTMLInputElement>('From (UTC)'),
      screen.getByLabelText<HTMLInputElement>('to (UTC)'),
    ];
    from.value = '2026-11-20T15:29:59';
    until.value = '2026-11-20T10:00';
    fireEvent.submit(from.closest('form') ?? document.body);
    await advance(0);
    expect(location.search).toBe('?ts_utc_start=2026-11-20T10:00:00Z&ts_utc_end=2026-11-20T15:29:59.999999Z&tz=utc');
  });

  it('that the address names wrongly is told; what the service does not accept, in its own words', async () => {
    const { service, advance } = await openPage({ search: '?date=2026-02-30&camera=a&tz=utc' });
    expect([...(screen.getByRole('alert', { name: '' }).children ?? [])].map(textOf)).toEqual([
      'camera is no parameter of this page.',
      expect.stringContaining('date cannot be understood: today is shown.'),
    ]);
    service.instead = (path) =>
      path.startsWith('analytics?') ? refusal(400, { detail: 'At most 366 days.' }) : undefined;
    await advance(10_000);
    expect(textOf(element('.attention'))).toContain('did not accept this question (400). At most 366 days.');
  });
});
