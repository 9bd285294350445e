import { type Alerts, counted } from './alert-order.ts';
import { isDrill } from './alert-state.ts';
import type { CameraStates } from './camera-states.ts';
import { type Freshness, freshnessOf, type Problem } from './freshness.ts';
import type { PageState } from './page-state.ts';
import { isPhoneOff } from './refresh.ts';

// The one rule for the health bar, and for title, icon and color of the tab: the worst of four lamps decides.
//
// Bad (red): a fire needs a person, or could burn unnoticed. Warn (amber): check it. Quiet (gray): nothing to do, or not known yet.

export type Level = 'good' | 'quiet' | 'warn' | 'bad';

export interface Lamp {
  readonly name: 'Alerts' | 'Phone' | 'Cameras' | 'Data';
  readonly level: Level;
  readonly text: string;
}

export interface Health {
  readonly lamps: readonly Lamp[];
  /** It decides the icon of the tab. The title names the red and amber lamps. */
  readonly worst: Level;
  /** When the data was true (milliseconds since 1970). */
  readonly asOf: number | undefined;
  readonly problems: readonly Problem[];
  /** `18 of 20 cameras are not sending.`, if they are too many. */
  readonly silence: string | undefined;
  /** Why a fire could burn unnoticed, for the alarm: id → words. */
  readonly outages: ReadonlyMap<string, string>;
}

const lampNamed =
  (name: Lamp['name']) =>
  (level: Level, text: string): Lamp => ({ name, level, text });

export const healthOf = (state: PageState, alerts: Alerts, cameras: CameraStates | undefined, now: number): Health => {
  const freshness = freshnessOf(state, now);
  const phone = phoneOf(state, freshness, now);
  const lamps = [
    alertLampOf(state, alerts, freshness),
    phone.lamp,
    cameraLampOf(cameras),
    dataLampOf(state, freshness),
  ];
  const blind =
    phone.problem?.text ??
    (freshness.areAlertsOld || state.locked?.refused === true
      ? 'The page cannot tell whether there are alerts.'
      : undefined);
  const silence = cameras?.areManySilent === true ? silenceText(cameras) : undefined;
  return {
    lamps,
    worst: (['bad', 'warn', 'quiet'] as const).find((level) => lamps.some((lamp) => lamp.level === level)) ?? 'good',
    asOf: freshness.asOf,
    problems:
      state.locked === undefined
        ? [...(phone.problem === undefined ? [] : [phone.problem]), ...freshness.problems]
        : keyProblems(state, freshness),
    silence,
    outages: new Map([
      ...(blind === undefined ? [] : [['outage', blind] as const]),
      ...(silence === undefined ? [] : [[cameras?.sending === 0 ? 'no camera' : 'silence', silence] as const]),
    ]),
  };
};

const alertLampOf = ({ parts, sawPhone }: PageState, alerts: Alerts, { areAlertsOld }: Freshness): Lamp => {
  const { openCount, failedCount, drillCount, running } = alerts;
  const drills = drillCount === 0 ? '' : ` · ${counted(drillCount, 'drill')}`;
  const lamp = (level: Level, text: string): Lamp => ({ name: 'Alerts', level, text: `${text}${drills}` });
  if (openCount > 0) return lamp(failedCount > 0 ? 'bad' : 'warn', `${openCount} open`);
  const isOff = isPhoneOff(parts.attention?.trouble);
  if (areAlertsOld || (isOff && sawPhone)) return lamp('bad', 'unknown');
  if (isOff) return lamp('quiet', 'none');
  if (parts.attention?.answer === undefined) return lamp('quiet', '…');
  const calm = running.filter((each) => !isDrill(each)).length;
  return calm > 0 ? lamp('quiet', `${calm} running`) : lamp('good', 'none open');
};

const silenceText = ({ notSending, sending, total }: CameraStates): string =>
  sending === 0 ? 'No camera is sending.' : `${notSending.length} of ${total} cameras are not sending.`;

const cameraLampOf = (cameras: CameraStates | undefined): Lamp => {
  if (cameras === undefined) return { name: 'Cameras', level: 'quiet', text: '…' };
  const { sending, total, areManySilent } = cameras;
  const level = areManySilent ? 'bad' : sending < total || total === 0 ? 'quiet' : 'good';
  return { name: 'Cameras', level, text: `${sending} of ${total}` };
};

const dataLampOf = ({ locked }: PageState, { standing, oldParts, isBlind }: Freshness): Lamp => {
  const lamp = lampNamed('Data');
  if (locked !== undefined) return lamp('bad', 'key needed');
  if (standing === 'loading') return lamp('quiet', 'loading');
  if (standing === 'current') return lamp('good', '');
  return lamp(isBlind ? 'bad' : 'warn', oldParts.length === 0 ? 'not current' : `not current: ${oldParts.join(', ')}`);
};

/** While the key is refused, the page continues to ask for alerts with the key that it holds. */
const keyProblems = ({ locked, parts }: PageState, { asOf }: Freshness): readonly Problem[] => {
  const answeredAt = parts.attention?.answeredAt ?? asOf;
  if (answeredAt === undefined) return [];
  const text =
    locked?.refused === true
      ? 'The service refuses the key. The page asks for alerts once a minute, and for a new key.'
      : 'The service asks for a key now. The page asks for alerts once a minute.';
  return [{ text, asOf: answeredAt, nextAt: parts.attention?.nextAt }];
};

/** Whether the service can call people; a problem only if this service has a phone, or this tab saw one. */
const phoneOf = (
  { parts: { attention }, sawPhone, times }: PageState,
  { areAlertsOld }: Freshness,
  now: number,
): { readonly lamp: Lamp; readonly problem?: Problem } => {
  const lamp = lampNamed('Phone');
  const { answer, trouble, answeredAt: asOf, nextAt } = attention ?? {};
  if (isPhoneOff(trouble)) {
    if (!sawPhone) return { lamp: lamp('quiet', 'not used here') };
    const text = 'The phone is switched off: the service calls no person. It was started with PHONE=off.';
    return { lamp: lamp('bad', 'off'), problem: { text, asOf, nextAt } };
  }
  if (answer?.phone === undefined) return { lamp: lamp('quiet', '…') };
  if (!answer.phone.usable) {
    const { since, reason } = answer.phone;
    const from = since === undefined ? '' : ` (since ${times.moment(Math.min(Date.parse(since), now)).text})`;
    const text = `The service cannot place calls${from}${reason === undefined ? '' : `: ${reason}`}.`;
    // The answer itself is current.
    return { lamp: lamp('bad', 'cannot call'), problem: { text, asOf, nextAt } };
  }
  return { lamp: areAlertsOld ? lamp('quiet', 'unknown') : lamp('good', 'ready') };
};
