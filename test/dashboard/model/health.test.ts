import { expect, it } from 'vitest';

import { alertsOf } from '../../../src/dashboard/browser/model/alert-order.ts';
import type { Notification } from '../../../src/dashboard/browser/model/answers.ts';
import type { CameraStates } from '../../../src/dashboard/browser/model/camera-states.ts';
import { type Health, healthOf, type Lamp } from '../../../src/dashboard/browser/model/health.ts';
import { firstState, type PageState } from '../../../src/dashboard/browser/model/page-state.ts';
import type { Part, Trouble } from '../../../src/dashboard/browser/model/refresh.ts';
import { FIRST_VIEW } from '../../../src/dashboard/browser/model/view.ts';
import { before, missed, NOON, notification, person } from '../answers.ts';

/** A part with an answer of noon, which is current until 15 s after it. */
const answered = <Answer>(answer: Answer): Part<Answer> => ({
  subject: '',
  answer,
  answeredAt: NOON,
  lateFrom: NOON + 15_000,
  failures: 0,
  nextAt: NOON + 8_000,
});

const WELL: PageState = {
  ...firstState({
    view: { ...FIRST_VIEW, clock: 'utc' },
    addressProblems: [],
    keyHeld: true,
    isHidden: false,
    sawPhone: true,
  }),
  parts: { attention: answered({ notifications: [], phone: { usable: true } }) },
};

const camerasOf = (sending: number, total: number, areManySilent = false): CameraStates => ({
  byId: new Map(),
  notSending: Array.from({ length: total - sending }, (_, index) => ({
    id: `ridge-${index}`,
    state: 'silent' as const,
    lastEventAt: before(3_600),
  })),
  sending,
  total,
  areManySilent,
});

interface Given {
  readonly alerts?: readonly Notification[];
  readonly cameras?: CameraStates | undefined;
  readonly now?: number;
}

const health = (
  state: Partial<PageState> = {},
  { alerts = [], cameras = camerasOf(20, 20), now = NOON + 1_000 }: Given = {},
): Health => healthOf({ ...WELL, ...state }, alertsOf(alerts, []), cameras, now);

const lampOf = ({ lamps }: Health, name: Lamp['name']): string => {
  const { level, text } = lamps.find((lamp) => lamp.name === name) ?? { level: '', text: '' };
  return `${level}: ${text}`;
};

const PLAYED = notification('played', { status: 'completed', recipients: [person('75', 'heard')] });

it('the worst lamp decides: red before amber, amber before gray, gray before green', () => {
  const gray = camerasOf(19, 20);
  expect(health().worst).toBe('good');
  expect(health({}, { cameras: gray }).worst).toBe('quiet');
  expect(health({}, { cameras: gray, alerts: [PLAYED] }).worst).toBe('warn');
  expect(health({}, { cameras: camerasOf(2, 20, true), alerts: [PLAYED] }).worst).toBe('bad');
});

it.each([
  ['20 of 20', 'good', camerasOf(20, 20)],
  ['19 of 20', 'quiet', camerasOf(19, 20)],
  ['18 of 20', 'bad', camerasOf(18, 20, true)],
  ['0 of 0', 'quiet', camerasOf(0, 0)],
])('the lamp of %s cameras is %s', (text, level, cameras) => {
  expect(lampOf(health({}, { cameras }), 'Cameras')).toBe(`${level}: ${text}`);
});

it('the alarm has one reason while some cameras send, and another when the last one falls silent', () => {
  const some = health({}, { cameras: camerasOf(1, 20, true) });
  const none = health({}, { cameras: camerasOf(0, 20, true) });
  expect([...some.outages]).toEqual([['silence', '19 of 20 cameras are not sending.']]);
  expect([...none.outages]).toEqual([['no camera', 'No camera is sending.']]);
  expect([some.silence, none.silence]).toEqual(['19 of 20 cameras are not sending.', 'No camera is sending.']);
  expect(health({}, { cameras: camerasOf(19, 20) }).outages.size).toBe(0);
});

it('alerts that run and need no person are counted, without drills', () => {
  const taken = { acknowledged_by: 'Ana', acknowledged_at: before(30) };
  const drill = notification('drill', { alert_type: 'Custom' });
  const alerts = [notification('fire', taken), notification('job', { alert_type: 'BurnJob' }), drill];
  expect(lampOf(health({}, { alerts }), 'Alerts')).toBe('quiet: 2 running · 1 drill');
  expect(lampOf(health({}, { alerts: [drill] }), 'Alerts')).toBe('good: none open · 1 drill');
});

it('open alerts are red if calls failed, and amber if not', () => {
  expect(lampOf(health({}, { alerts: [PLAYED, notification('rings')] }), 'Alerts')).toBe('warn: 2 open');
  expect(lampOf(health({}, { alerts: [PLAYED, missed('fire')] }), 'Alerts')).toBe('bad: 2 open');
});

const FAILING = { subject: '', answer: undefined, failures: 1, trouble: { kind: 'unreachable' } } as const;

it.each<[string, PageState['parts']]>([
  ['bad: not current: alerts, plots', { notifications: FAILING, series: FAILING }],
  ['bad: not current: camera states', { recent: FAILING }],
  ['bad: not current: camera states', { known: FAILING }],
  [
    'warn: not current: figures, plots, cameras, accuracy',
    { activity: FAILING, series: FAILING, cameras: FAILING, accuracy: FAILING },
  ],
])(
  'data that is not current is red if it could hide a fire or silent cameras, and amber otherwise: %s',
  (lamp, parts) => {
    expect(lampOf(health({ parts: { ...WELL.parts, ...parts } }), 'Data')).toBe(lamp);
  },
);

it('a problem with the key says which, since when the alerts are old, and when the page asks again', () => {
  const [refused, asked] = [{ refused: true }, { refused: false }].map((locked) => health({ locked }));
  expect(refused?.problems).toEqual([
    {
      text: 'The service refuses the key. The page asks for alerts once a minute, and for a new key.',
      asOf: NOON,
      nextAt: NOON + 8_000,
    },
  ]);
  expect(asked?.problems).toEqual([
    {
      text: 'The service asks for a key now. The page asks for alerts once a minute.',
      asOf: NOON,
      nextAt: NOON + 8_000,
    },
  ]);
  expect([refused, asked].map((each) => each && lampOf(each, 'Data'))).toEqual(['bad: key needed', 'bad: key needed']);
  // The alerts are current. With a refused key, the page cannot know for how long.
  expect([refused, asked].map((each) => each?.outages.has('outage'))).toEqual([true, false]);
});

it('a page that never had an answer has no problem with the key: it has a form for it', () => {
  expect(health({ locked: { refused: true }, parts: {} }).problems).toEqual([]);
});

it('with a refused key, the age of the alerts counts, or without alerts the age of the figures', () => {
  const figures = { ...answered({ notifications: [] }), answeredAt: NOON - 60_000 };
  const locked = { refused: false };
  expect(health({ locked, parts: { ...WELL.parts, notifications: figures } }).problems[0]?.asOf).toBe(NOON);
  expect(health({ locked, parts: { notifications: figures } }).problems[0]?.asOf).toBe(NOON - 60_000);
});

it.each([
  ['in the past', before(60), '11:59:00'],
  ['in the future, by the clock of another instance', before(-60), '12:00:01'],
])('the phone cannot call since a time %s', (_, since, expected) => {
  const phone = { usable: false, since, reason: 'the provider refuses' };
  const found = health({ parts: { attention: answered({ notifications: [], phone }) } });
  expect(lampOf(found, 'Phone')).toBe('bad: cannot call');
  const text = `The service cannot place calls (since 21 Nov ${expected} UTC): the provider refuses.`;
  expect(found.problems).toEqual([{ text, asOf: NOON, nextAt: NOON + 8_000 }]);
  expect([...found.outages]).toEqual([['outage', text]]);
});

const PHONE_OFF: Trouble = { kind: 'unavailable', status: 503, detail: '', code: 'phone_off', retryAfterMs: undefined };
const ASKING = { subject: '', answer: undefined, failures: 0, waitsUntil: NOON + 7_000 };
const ATTENTION = answered({ notifications: [], phone: { usable: true } });

it.each<[string, Partial<PageState>, number, alerts: string, phone: string, data: string]>([
  ['well', {}, 15_000, 'good: none open', 'good: ready', 'good: '],
  ['before the first answer', { parts: { attention: ASKING } }, 0, 'quiet: …', 'quiet: …', 'quiet: loading'],
  ['late', {}, 15_001, 'bad: unknown', 'quiet: unknown', 'bad: not current'],
  [
    'without a phone',
    { sawPhone: false, parts: { attention: { ...ASKING, trouble: PHONE_OFF } } },
    0,
    'quiet: none',
    'quiet: not used here',
    'good: ',
  ],
  [
    'with a phone that was switched off',
    { parts: { attention: { ...ATTENTION, trouble: PHONE_OFF } } },
    0,
    'bad: unknown',
    'bad: off',
    'good: ',
  ],
])('%s, the lamps say what the page knows', (_, state, after, alerts, phone, data) => {
  const found = health(state, { now: NOON + after });
  expect([lampOf(found, 'Alerts'), lampOf(found, 'Phone'), lampOf(found, 'Data')]).toEqual([alerts, phone, data]);
  const isBad = [alerts, phone].some((text) => text.startsWith('bad'));
  expect(found.outages.size, 'a reason to sound').toBe(isBad ? 1 : 0);
});
