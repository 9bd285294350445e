import { fireEvent, screen, within } from '@testing-library/preact';
import { describe, expect, it, vi } from 'vitest';

import { PageAnswers } from './answers.ts';
import { cellsOf, element, openPage, textOf } from './stage.ts';

const figure = (title: string): HTMLElement => {
  const found = screen.getByRole('heading', { name: title }).closest('figure');
  if (found === null) throw new Error(`there is no plot ${title}`);
  return found;
};

const DAY = '?date=2026-11-20&tz=utc';

/** Moves the pointer over a plot, to a part of its width; the DOM of Node's has no layout. */
const point = (title: string, at: number): void => {
  const bars = figure(title).querySelector('.bars');
  if (bars === null) throw new Error('there are no bars');
  bars.getBoundingClientRect = () => new DOMRect(0, 0, 480, 100);
  fireEvent.pointerMove(bars, { clientX: 480 * at });
};

describe('the plots', () => {
  it.each([
    ['?last=1h&tz=utc', 'minute', 60],
    ['?last=6h&tz=utc', '5 minutes', 72],
    [DAY, '30 minutes', 48],
    ['?last=7d&tz=utc', '3 hours', 56],
    ['?last=30d&tz=utc', '6 hours', 120],
  ])('of %s are per %s: %i bars', async (search, step, bars) => {
    const { service } = await openPage({ search });
    expect(service.askedFor('analytics/series')[0]).toContain(`step=${step.replace(' ', '_')}`);
    expect(screen.getByRole('img', { name: new RegExp(`^AI detections per ${step}, ${bars} steps`) })).toBeDefined();
  });

  it('share one cursor: each says the counts of the step that is pointed at', async () => {
    await openPage({ search: DAY });
    expect(textOf(figure('Camera frames').querySelector('.legend'))).toMatch(/^frames 1,128/);
    point('AI detections', 10.5 / 48);
    await vi.advanceTimersByTimeAsync(50);
    expect([...document.querySelectorAll('.pointed')].map(textOf)).toEqual(
      Array.from({ length: 4 }, () => '20 Nov 05:00–05:30 UTC'),
    );
    expect(textOf(figure('Camera frames').querySelector('.legend b'))).toBe('10');
    expect(textOf(figure('Annotations').querySelector('.legend b'))).toBe('1');
  });

  it('of frames have active cameras as a small line, which are not added up, and in the table', async () => {
    await openPage({ search: DAY });
    const frames = figure('Camera frames');
    expect(textOf(frames.querySelector('.legend'))).toContain('active cameras at most 2');
    expect(frames.querySelectorAll('.active-line polyline')).toHaveLength(1);
    const details = frames.querySelector('details');
    if (details === null) throw new Error('there is no table');
    details.open = true;
    fireEvent(details, new Event('toggle'));
    await vi.advanceTimersByTimeAsync(50);
    expect(cellsOf('Camera frames per 30 minutes').slice(0, 3)).toEqual([
      ['20 Nov 00:00–00:30 UTC', '0', '1'],
      ['20 Nov 00:30–01:00 UTC', '1', '2'],
      ['20 Nov 01:00–01:30 UTC', '2', '1'],
    ]);
  });

  it('show a category alone by a click in a legend, in all of them, and all again by a second one', async () => {
    const { press } = await openPage({ search: DAY });
    const drawn = () => figure('AI detections').querySelectorAll('svg path[style]').length;
    expect(drawn()).toBe(3);
    await press(/^smoke/, figure('Annotations'));
    await vi.advanceTimersByTimeAsync(50);
    expect(drawn()).toBe(1);
    expect(
      within(figure('AI detections'))
        .getByRole('button', { name: /^smoke/ })
        .getAttribute('aria-pressed'),
    ).toBe('true');
    await press(/^smoke/, figure('AI detections'));
    await vi.advanceTimersByTimeAsync(50);
    expect(drawn()).toBe(3);
  });

  it('draw nothing of what has not begun, and pale what is not over', async () => {
    const service = new PageAnswers();
    await openPage({ service, search: '?tz=utc' });
    expect(figure('Camera frames').querySelectorAll('.partial').length).toBeLessThanOrEqual(1);
    expect(element('.marks').textContent).toBe('21 Nov04:0008:0012:0016:0020:00');
  });
});
