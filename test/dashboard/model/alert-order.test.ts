import { expect, it } from 'vitest';

import { alertsOf } from '../../../src/dashboard/browser/model/alert-order.ts';
import type { Notification } from '../../../src/dashboard/browser/model/answers.ts';
import { before, missed, notification, person } from '../answers.ts';

const TAKEN = { acknowledged_by: 'Ana', acknowledged_at: before(30) };
const PLAYED = { status: 'completed', recipients: [person('00', 'heard')] };
const CONFIRMED = { status: 'completed', recipients: [person('00', 'confirmed')] };

const idsOf = (alerts: readonly Notification[]): readonly string[] => alerts.map(({ notification_id: id }) => id);

it('has three sections: fires whose calls are over and that nobody has come first, drills last; of equal alerts, the one that waits longest', () => {
  const alerts = alertsOf(
    [
      notification('drill', { alert_type: 'Custom', created_at: before(1) }),
      missed('failed drill', { alert_type: 'Custom', created_at: before(3_000) }),
      missed('anomaly', { alert_type: 'Anomaly', created_at: before(3) }),
      notification('played', { ...PLAYED, created_at: before(4) }),
      missed('later fire', { created_at: before(800) }),
      missed('old fire', { alert_type: 'ReportOfFire', created_at: before(900) }),
      notification('ringing', { created_at: before(5) }),
      notification('taken and ringing', { ...TAKEN, created_at: before(2_000) }),
      missed('taken', TAKEN),
      missed('worse', { alert_type: 'BurnJob', ...TAKEN, worsened_since_acknowledged: true, created_at: before(50) }),
      notification('confirmed', CONFIRMED),
      notification('played anomaly', { ...PLAYED, alert_type: 'Anomaly', created_at: before(70) }),
    ],
    [],
  );
  expect(idsOf(alerts.needsYou)).toEqual(['old fire', 'later fire', 'played', 'worse', 'anomaly', 'failed drill']);
  expect(idsOf(alerts.running)).toEqual(['ringing', 'taken and ringing', 'drill']);
  expect(idsOf(alerts.worst)).toEqual([
    'old fire',
    'later fire',
    'played',
    'ringing',
    'taken and ringing',
    'worse',
    'anomaly',
    'failed drill',
    'drill',
  ]);
  expect(idsOf(alerts.rest)).toEqual(['taken', 'confirmed', 'played anomaly']);
  // Drills count apart.
  expect([alerts.openCount, alerts.failedCount, alerts.drillCount]).toEqual([6, 4, 2]);
});

it('a new fire that is over stays listed and counts until it was seen; other types and taken fires do not', () => {
  const listed = [
    notification('fire', CONFIRMED),
    notification('stopped', { status: 'stopped' }),
    notification('anomaly', { ...CONFIRMED, alert_type: 'Anomaly' }),
    notification('taken', { ...CONFIRMED, ...TAKEN }),
  ];
  const { needsYou, rest, unseen, openCount } = alertsOf(listed, listed);
  expect([idsOf(needsYou), idsOf(rest)]).toEqual([
    ['fire', 'stopped'],
    ['anomaly', 'taken'],
  ]);
  expect([[...unseen], openCount]).toEqual([['fire', 'stopped'], 2]);
  expect(alertsOf(listed, []).needsYou).toEqual([]);
});
