import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { alertTypeText, recipientsText, wordingOf } from '../../../src/dashboard/browser/model/call-words.ts';
import { numberTexts } from '../../../src/dashboard/browser/model/number-text.ts';
import { timeTexts } from '../../../src/dashboard/browser/model/time-text.ts';

describe('numbers', () => {
  it('are grouped as the reader is used to', () => {
    expect(numberTexts('en-US').count(1_234_567)).toBe('1,234,567');
    expect(numberTexts('de-DE').count(1_234_567)).toBe('1.234.567');
  });

  it('keep every digit', () => {
    fc.assert(
      fc.property(fc.nat(), (count) => {
        expect(numberTexts('en-US').count(count).replaceAll(',', '')).toBe(String(count));
      }),
    );
  });

  it('are no share of nothing', () => {
    expect(numberTexts('en-US').share(1, 0)).toBe('–');
    expect(numberTexts('en-US').share(1, 8)).toBe('12.5%');
  });
});

describe('times', () => {
  const madrid = timeTexts('Europe/Madrid');

  it('are UTC to the microsecond, with the reader’s own beside them', () => {
    expect(madrid.utc('2026-11-21T23:59:59.999999+00:00')).toBe('2026-11-21 23:59:59.999999 UTC');
    expect(madrid.own('2026-11-21T23:59:59.999999+00:00')).toBe('22 Nov, 00:59:59');
    expect(madrid.utcClock(Date.parse('2026-11-21T08:00:02Z'))).toBe('08:00:02');
    expect(madrid.ownClock(Date.parse('2026-11-21T08:00:02Z'))).toBe('09:00:02');
  });

  it('are said once where the reader’s own are UTC', () => {
    for (const zone of ['UTC', 'Etc/UTC']) {
      expect(timeTexts(zone)).toMatchObject({ zone: 'UTC' });
      expect(timeTexts(zone).own('2026-11-21T08:00:00Z')).toBeUndefined();
      expect(timeTexts(zone).ownClock(0)).toBeUndefined();
    }
  });

  it('name the whole step of a series', () => {
    const start = Date.parse('2026-11-21T23:00:00Z') / 1_000;

    expect(madrid.step(start, 'hour')).toBe('21 Nov 23:00–00:00');
    expect(madrid.ownStep(start, 'hour')).toBe('22 Nov 00:00–01:00');
    expect(madrid.step(start, 'day')).toBe('21 Nov');
    expect(madrid.ownStep(start, 'day')).toBeUndefined();
  });

  it('mark midnight with its day', () => {
    expect(madrid.mark(Date.parse('2026-11-21T00:00:00Z') / 1_000)).toBe('21 Nov');
    expect(madrid.mark(Date.parse('2026-11-21T06:00:00Z') / 1_000)).toBe('06:00');
  });

  it('leave as it is what they do not understand', () => {
    expect(madrid.utc('soon')).toBe('soon');
    expect(madrid.own('soon')).toBeUndefined();
  });
});

describe('calls', () => {
  it('are told in words; a new status as the service writes it', () => {
    expect(alertTypeText('PointOfInterest')).toBe('Point of interest');
    expect(wordingOf('not_reached')).toEqual({ text: 'Not reached', tone: 'bad' });
    expect(wordingOf('<b>new</b>')).toEqual({ text: '<b>new</b>', tone: 'neutral' });
    expect(recipientsText([{ status: 'heard' }, { status: 'not_reached' }, { status: 'heard' }])).toBe(
      '2 heard, 1 not reached',
    );
  });
});
