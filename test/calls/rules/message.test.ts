import { describe, expect, it } from 'vitest';

import { ALERT_TYPES, findAlertType } from '../../../src/calls/model/alert-types.ts';
import { longestSpeakingMs, MAX_SPOKEN_CHARACTERS, spokenMessage } from '../../../src/calls/rules/message.ts';

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
    expect(spokenMessage('Ridge Watch', alertType)).toBe(`${unit}${unit}${unit}`);
  });

  it('exists for every alert type', () => {
    expect(ALERT_TYPES).toHaveLength(6);
    expect(findAlertType('Custom')?.phrase).toBe('Custom Alert has been reported.');
    expect(findAlertType('custom')).toBeUndefined();
    expect(findAlertType('toString')).toBeUndefined();
  });

  it('contains the service name unchanged, whatever its characters', () => {
    const name = '<Fire & "Rescue"> $& %20 \\n';
    expect(spokenMessage(name, ALERT_TYPES[0]).split(name)).toHaveLength(4);
  });

  it('is short enough for the line with the longest service name that the settings accept', () => {
    const longest = Math.max(...ALERT_TYPES.map((type) => spokenMessage('x'.repeat(200), type).length));
    expect(longest).toBeLessThanOrEqual(MAX_SPOKEN_CHARACTERS);
  });

  it('has a speaking time above that of any voice, with more for digits and signs', () => {
    const text = spokenMessage('Ridge Watch', ALERT_TYPES[0]);
    // Voices usually speak 15 characters a second.
    expect(longestSpeakingMs(text)).toBeGreaterThan((text.length / 15) * 1_000 * 2);
    expect(longestSpeakingMs('7'.repeat(100))).toBeGreaterThan(longestSpeakingMs('a'.repeat(100)));
    expect(longestSpeakingMs(text)).toBeLessThan(60_000);
  });
});
