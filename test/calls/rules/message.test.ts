import { describe, expect, it } from 'vitest';

import { type AlertType, ALERT_TYPES, findAlertType } from '../../../src/calls/model/alert-types.ts';
import {
  callMessage,
  MAX_DETAILS_CHARACTERS,
  type MessageTerms,
  messageUnit,
  speakingTimes,
  spokenMessage,
  spokenText,
} from '../../../src/calls/rules/message.ts';

const spoken = (serviceName: string, alertType: AlertType, terms: MessageTerms = {}): string =>
  spokenMessage(callMessage(serviceName, alertType, terms));

const withDetails = (details: string) => speakingTimes('Ridge Watch', ALERT_TYPES[0], { details });

describe('the spoken message', () => {
  // Written out from the contract, not derived from the code.
  it.each([
    ['Anomaly', 'AnomalyCallback', 'Anomaly has been reported.'],
    ['PointOfInterest', 'PointOfInterestCallback', 'Point of interest has been reported.'],
    ['ReportOfFire', 'ReportOfFireCallback', 'Report of a fire has been reported.'],
    ['ConfirmedFire', 'ConfirmedFireCallback', 'Confirmed fire has been reported.'],
    ['BurnJob', 'BurnJobCallback', 'Burn job has been reported.'],
    ['Custom', 'CustomCallback', 'Custom Alert has been reported.'],
  ])('of %s is its message unit three times', (name, callbackPath, phrase) => {
    const alertType = ALERT_TYPES.find((type) => type.name === name) ?? ALERT_TYPES[0];
    expect(alertType.callbackPath).toBe(callbackPath);
    const unit = `You've received a new Alert from Ridge Watch. ${phrase} `;
    expect(spoken('Ridge Watch', alertType)).toBe(`${unit}${unit}${unit}`);
  });

  it('exists for every alert type', () => {
    expect(ALERT_TYPES).toHaveLength(6);
    expect(findAlertType('Custom')?.phrase).toBe('Custom Alert has been reported.');
    expect(findAlertType('custom')).toBeUndefined();
    expect(findAlertType('toString')).toBeUndefined();
  });

  it('contains the service name unchanged, whatever its characters', () => {
    const name = '<Fire & "Rescue"> $& %20 \\n';
    expect(spoken(name, ALERT_TYPES[0]).split(name)).toHaveLength(4);
  });

  // Written out from the contract, too.
  it.each([
    [
      { confirm: true },
      "You've received a new Alert from Ridge Watch. Custom Alert has been reported. Press 1 to confirm, 2 to hear it again, 3 if you cannot go. ",
    ],
    [
      { details: 'Antelope Ridge, camera 4.' },
      "You've received a new Alert from Ridge Watch. Custom Alert has been reported. Antelope Ridge, camera 4. ",
    ],
    // Without its full stop the voice would run on.
    [
      { confirm: true, details: 'Antelope Ridge, camera 4' },
      "You've received a new Alert from Ridge Watch. Custom Alert has been reported. Antelope Ridge, camera 4. Press 1 to confirm, 2 to hear it again, 3 if you cannot go. ",
    ],
    [
      { confirm: false, details: undefined },
      "You've received a new Alert from Ridge Watch. Custom Alert has been reported. ",
    ],
  ])('with %j is this three times', (terms, unit) => {
    const custom = findAlertType('Custom') ?? ALERT_TYPES[0];
    expect(spoken('Ridge Watch', custom, terms)).toBe(`${unit}${unit}${unit}`);
    // The menu is no part of what somebody has to hear.
    expect(messageUnit('Ridge Watch', custom, terms)).toBe(unit.replace(/Press .*/, ''));
  });

  it.each([
    [0, 'Fire. Fire. Fire. '],
    [1, 'Fire. Fire. Fire. '],
    [2, 'Fire. Fire. Fire. '],
    [8, 'Understood. Thank you.'],
    [9, 'Confirmed. Thank you.'],
  ] as const)('of speech %i is %j', (speech, text) => {
    expect(spokenText(speech, { unit: 'Fire. ', hasKeys: true })).toBe(text);
  });

  it('is short enough for the line with the longest service name and details that are accepted', () => {
    // Of characters that count as two.
    const [serviceName, details] = ['🔥'.repeat(200), '🔥'.repeat(MAX_DETAILS_CHARACTERS)];
    const terms = { confirm: true, details };
    const longest = Math.max(...ALERT_TYPES.map((type) => spoken(serviceName, type, terms).length));
    expect(longest).toBeLessThanOrEqual(4_000);
    expect(MAX_DETAILS_CHARACTERS).toBe(200);
  });

  it('takes 10 s to begin, 120 ms a letter and 400 ms a digit or sign; one unit was surely spoken after 80 ms a character', () => {
    const letters = withDetails('a'.repeat(10));
    const digits = withDetails('7'.repeat(10));
    const more = withDetails('a'.repeat(20));
    expect(digits.messageMs - letters.messageMs).toBe(3 * 10 * (400 - 120));
    expect(more.messageMs - letters.messageMs).toBe(3 * 10 * 120);
    expect(more.unitMs - letters.unitMs).toBe(10 * 80);
    // Of a unit without digits and signs but the full stops and commas.
    const unit = messageUnit('Ridge Watch', ALERT_TYPES[0]);
    expect(speakingTimes('Ridge Watch', ALERT_TYPES[0])).toEqual({
      unitMs: unit.length * 80,
      messageMs: 10_000 + 3 * unit.length * 120,
    });
  });
});
